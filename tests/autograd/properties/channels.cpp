// Channel-wise normalization: loops over the definition.

#include <algorithm>
#include <cmath>

#include <xtensor/xbuilder.hpp>

#include "autograd/ops/norm/batch_norm.h"
#include "autograd/ops/norm/group_norm.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// x [N, C, ...], whose values (n, c, i) with equal keys are normalized together.
struct DrawnChannels {
  explicit DrawnChannels(Draw& draw) : dtype(draw.floating()) {
    groups = draw.between(1, 3);
    batch = draw.between(1, 4), channels = groups * draw.between(1, 3);
    std::vector<int64_t> sizes{batch, channels};
    if (draw.chance(0.7)) sizes.push_back(draw.chance(0.15) ? draw.between(15, 70) : draw.between(2, 5));
    if (draw.chance(0.4)) sizes.push_back(draw.between(1, 3));
    const Shape shape = sizes;
    inputs.push_back(draw.values(shape, dtype));
    positions = shape.numel() / (batch * channels);
    if (draw.chance(0.7)) {
      inputs.push_back(draw.values({channels}, dtype));
      inputs.push_back(draw.values({channels}, dtype));
    }
    eps = draw.one_of({1e-5, 1e-2});
  }
  Array weights() const { return inputs.size() > 1 ? exact(inputs[1]) : Array(xt::ones<double>({channels})); }
  Array biases() const { return inputs.size() > 2 ? exact(inputs[2]) : zeros_of({channels}); }
  /// y, or the magnitude that its rounding is relative to.
  template <class Key>
  Array normalized(const Key& key, bool sizes) const {
    const Array x = exact(inputs[0]);
    const Array weight = weights(), bias = biases();
    std::vector<double> sums(static_cast<size_t>(batch * channels)), counts = sums, squares = sums, largest = sums;
    const auto each = [&](const auto& see) {
      for (size_t i = 0; i < x.size(); ++i) {
        const int64_t plane = static_cast<int64_t>(i) / positions, c = plane % channels;
        see(i, static_cast<size_t>(key(plane / channels, c)), c);
      }
    };
    each([&](size_t i, size_t k, int64_t) {
      sums[k] += x.data()[i], counts[k] += 1;
      largest[k] = std::max(largest[k], std::abs(x.data()[i]));
    });
    each([&](size_t i, size_t k, int64_t) { squares[k] += std::pow(x.data()[i] - sums[k] / counts[k], 2); });
    Array y = x;
    each([&](size_t i, size_t k, int64_t c) {
      const double rstd = 1 / std::sqrt(squares[k] / counts[k] + eps);
      y.data()[i] = sizes ? 2 * largest[k] * rstd * std::abs(weight.data()[c]) + std::abs(bias.data()[c])
                          : (x.data()[i] - sums[k] / counts[k]) * rstd * weight.data()[c] + bias.data()[c];
    });
    return y;
  }
  DType dtype;
  Tensors inputs = {};
  int64_t groups = 1, batch = 1, channels = 1, positions = 1;
  double eps = 0;
};
Tensor given(const Tensors& in, size_t i) { return in.size() > i ? in[i] : Tensor(); }

Case draw_group_norm(Draw& draw) {
  const DrawnChannels from(draw);
  const auto group = [&](int64_t n, int64_t c) { return n * from.groups + c / (from.channels / from.groups); };
  const int64_t together = from.channels / from.groups * from.positions;
  return {.inputs = from.inputs,
          .call = [groups = from.groups, eps = from.eps](
                      const Tensors& in) { return group_norm(in[0], groups, given(in, 1), given(in, 2), eps); },
          .expected = from.normalized(group, false),
          .dtype = from.dtype,
          .magnitude = from.normalized(group, true),
          .length = 2 * together,
          .constant = together == 1};
}
Case draw_batch_norm(Draw& draw) {
  DrawnChannels from(draw);
  const bool alone = from.batch * from.positions == 1;
  const auto channel = [](int64_t, int64_t c) { return c; };
  if (!alone && draw.chance(0.7))
    return {.inputs = from.inputs,
            .call =
                [eps = from.eps](const Tensors& in) {
                  return batch_norm(in[0], {}, {}, given(in, 1), given(in, 2), {.training = true, .eps = eps});
                },
            .expected = from.normalized(channel, false),
            .dtype = from.dtype,
            .magnitude = from.normalized(channel, true),
            .length = 2 * from.batch * from.positions};
  const Tensor mean = draw.values({from.channels}, from.dtype), var = draw.values({from.channels}, from.dtype, 0.2, 2);
  const auto part = [&](bool sizes) {
    const Array values = exact(from.inputs[0]), means = exact(mean), variances = exact(var), weights = from.weights(),
                biases = from.biases();
    return build(from.inputs[0].shape(), [&](const Index& index) {
      const int64_t c = index[1];
      const double weight = weights.data()[c], bias = biases.data()[c], m = means.data()[c], x = at(values, index),
                   rstd = 1 / std::sqrt(variances.data()[c] + from.eps);
      return sizes ? (std::abs(x) + std::abs(m)) * rstd * std::abs(weight) + std::abs(bias)
                   : (x - m) * rstd * weight + bias;
    });
  };
  return {.inputs = from.inputs,
          .call =
              [mean, var, eps = from.eps](const Tensors& in) {
                return batch_norm(in[0], mean.to(in[0].dtype()), var.to(in[0].dtype()), given(in, 1), given(in, 2),
                                  {.eps = eps});
              },
          .expected = part(false),
          .dtype = from.dtype,
          .magnitude = part(true),
          .length = 3};
}

}  // namespace

void add_channels(std::vector<Property>& all) {
  all.insert(all.end(), {{"group_norm", "group_norm", draw_group_norm}, {"batch_norm", "batch_norm", draw_batch_norm}});
}

}  // namespace tape::properties
