#include "autograd/ops/norm/group_norm.h"

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/norm/channel_norm.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// dweight_b sums dy_b n_b over all axes but the channels, dbias_b sums dy_b.
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
                        .per_sample = group_norm_per_sample});

struct GroupNorm : ChannelNorm {
  GroupNorm(const Tensor& x, int64_t groups, double added_to_var) : ChannelNorm(x, x.size(1) / groups, added_to_var) {}

  void forward(const auto& c) const {
    kernels::channel_norm(c).normalize(planes, c.in(0), c.in(1), c.in(2), eps, {}, c.out(), c.kept(0), c.kept(1));
  }
  void backward(const auto& c) const { backward_of(c, kernels::MeanOf::x); }
  Tensor reference(Inputs in) const {
    const int64_t groups = planes.channels / planes.together;
    const Tensor rows = reshape(in[0], {planes.outer * groups, planes.together * planes.size});
    return reshape(scaled_channels(reshape(normalized(rows, -1, eps), shape()), in[1], in[2]), in[0].shape());
  }
};

}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  check_norm("group_norm", x, weight, bias, eps);
  if (groups < 1) raise(ErrorKind::config, "group_norm: groups must be at least 1, got {}", groups);
  if (x.size(1) % groups != 0)
    raise(ErrorKind::shape, "group_norm: {} groups do not divide the {} channels of x {}", groups, x.size(1),
          to_string(x.shape()));
  return fused(group_norm_op, {x, weight, bias}, GroupNorm(x, groups, eps), {{"groups", groups}, {"eps", eps}});
}

}  // namespace tape
