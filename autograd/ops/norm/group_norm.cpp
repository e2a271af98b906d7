#include "autograd/ops/norm/group_norm.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/norm/channel_norm.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using Numbers = kernels::ChannelPlanes::Numbers;

std::vector<OpSample> group_norm_samples() {
  auto into = [](int64_t groups) {
    return [=](const Tensors& in) {
      return group_norm(in[0], groups, in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
    };
  };
  return {{"two groups", {sample_normal({2, 4, 3}, 1), sample_normal({4}, 2), sample_normal({4}, 3)}, into(2)},
          {"weight alone", {sample_normal({2, 3, 2, 2}, 1), sample_normal({3}, 2)}, into(3)},
          {"plain, no positions", {sample_normal({3, 6}, 1)}, into(2)},
          {"no batch", {sample_normal({0, 2, 3}, 1), sample_normal({2}, 2), sample_normal({2}, 3)}, into(1)}};
}

/// dweight_b = the sum of dy_b n_b over all but the channels, dbias_b that of dy_b.
Tensor group_norm_per_sample(const PerSampleCall& call) {
  const Tensor& x = call.inputs[0];
  if (call.input == 0 || call.axis != 0) return {};
  const auto summed = [&](const Tensor& g) {
    return sum(reshape(g, {call.samples, x.size(0) / call.samples, x.size(1), -1}), {1, 3});
  };
  if (call.input == 2) return summed(call.gradient);
  const Attributes& given = call.node.attributes;
  return summed(call.gradient *
                group_norm(x.detach(), *given.get<int64_t>("groups"), {}, {}, *given.get<double>("eps")));
}

const Op group_norm_op({.name = "group_norm",
                        .formula = {.forward = "y{y} = n<1: ⊙ weight{1}><2: + bias{2}>, n = (x{0} − mean) · r, r = "
                                               "1/√(var + {eps}), over each of {groups} group(s) of channels",
                                    .backward = {"dx{x} = r (g − mean(g) − n ⊙ mean(g ⊙ n)), g = dy<1: ⊙ weight>",
                                                 "dweight{x} = Σ dy ⊙ n over all but the channels",
                                                 "dbias{x} = Σ dy over all but the channels"}},
                        .samples = group_norm_samples,
                        .per_sample = group_norm_per_sample});

Tensor composed_groups(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  const NormPlanes planes(x, Numbers::of_plane);
  const Tensor rows = reshape(x, {planes.outer * groups, planes.channels / groups * planes.size});
  return reshape(scaled_channels(reshape(normalized(rows, -1, eps), planes.shape()), weight, bias), x.shape());
}

}  // namespace

/// Of each group: n = (x - mean) r, r = 1 / sqrt(var + eps), y = n weight + bias; gradients as norm_gradients() has
/// them.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  check_norm("group_norm", x, weight, bias, eps);
  if (groups < 1) raise(ErrorKind::config, "group_norm: groups must be at least 1, got {}", groups);
  const NormPlanes planes(x, Numbers::of_plane);
  if (planes.channels % groups != 0)
    raise(ErrorKind::shape, "group_norm: {} groups do not divide the {} channels of x {}", groups, planes.channels,
          to_string(x.shape()));
  if (Composed::active()) return composed_groups(x, groups, weight, bias, eps);
  const int64_t rows = planes.outer * groups, together = planes.channels / groups;
  Tensor y = empty_like(x), mean = zeros({rows}, x.dtype()), rstd = zeros({rows}, x.dtype());
  if (x.numel() > 0)
    dispatch_floating("group_norm", x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const Moments<T> moments(rows, together * planes.size, 1, x.data<T>());
      T *const means = mean.mutable_data<T>(), *const inverses = rstd.mutable_data<T>();
      for (int64_t row = 0; row < rows; ++row) {
        const size_t i = static_cast<size_t>(row);
        means[row] = moments.mean[i];
        const double var = static_cast<double>(moments.squares[i]) / static_cast<double>(together * planes.size);
        inverses[row] = static_cast<T>(1 / std::sqrt(var + eps));
      }
      normalize_planes<T>(
          planes, x, [&](int64_t i) { return means[i / together]; }, [&](int64_t i) { return inverses[i / together]; },
          weight, bias, y);
    });
  return record(group_norm_op, {x, weight, bias}, y, {x, weight, mean, rstd, bias},
                [groups, together, eps](const BackwardContext& c) -> Tensors {
                  if (!c.create_graph()) return norm_gradients(c, Numbers::of_plane, together, MeanOf::x);
                  return twin_gradients(c, {c.saved(0), c.saved(1), c.saved(4)}, 1, [=](const Tensors& in) {
                    return Tensors{composed_groups(in[0], groups, in[1], in[2], eps)};
                  });
                },
                {{"groups", groups}, {"eps", eps}});
}

}  // namespace tape
