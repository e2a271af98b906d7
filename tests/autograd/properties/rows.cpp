// Operations on whole rows: softmax, norms and running sums, as loops over the formula.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <xtensor/xmath.hpp>

#include "autograd/kernels/random/common/random_draw.h"
#include "autograd/ops/index/order.h"
#include "autograd/ops/norm/gumbel_softmax.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/ops/norm/softmax.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// f(row) -> row, for every row along an axis.
template <class F>
Array along(const Array& x, int64_t axis, const F& f) {
  const Shape shape = shape_of(x);
  Array y = zeros_of(shape);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const Index index = shape.unravel(i);
    if (index[static_cast<size_t>(axis)] != 0) continue;
    const std::vector<double> row = f(line(x, index, axis));
    Index to = index;
    for (size_t j = 0; j < row.size(); ++j) {
      to[static_cast<size_t>(axis)] = static_cast<int64_t>(j);
      y.data()[flat(shape, to)] = row[j];
    }
  }
  return y;
}

double sum_of(const std::vector<double>& row) { return std::accumulate(row.begin(), row.end(), 0.0); }
double largest_size(const std::vector<double>& row) {
  double largest = 0;
  for (const double value : row) largest = std::max(largest, std::abs(value));
  return largest;
}

std::vector<double> log_softmax_of(std::vector<double> row) {
  double total = 0;
  for (const double value : row) total += std::exp(value);
  for (double& value : row) value -= std::log(total);
  return row;
}
std::vector<double> softmax_of(std::vector<double> row) {
  row = log_softmax_of(row);
  for (double& value : row) value = std::exp(value);
  return row;
}

/// A tensor with at least one axis, and one of its axes.
struct AlongAxis {
  explicit AlongAxis(Draw& draw, double range)
      : shape(draw.shape(1)),
        dtype(draw.floating()),
        x(draw.values(shape, dtype, -range, range)),
        axis(draw.axis(shape)),
        front(axis < 0 ? axis + shape.rank() : axis),
        values(exact(x)),
        length(std::max<int64_t>(1, shape[front])) {}
  Shape shape;
  DType dtype;
  Tensor x;
  int64_t axis, front;
  Array values;
  int64_t length;
};

Case draw_softmax(Draw& draw) {
  const AlongAxis from(draw, draw.one_of({2.0, 15.0}));
  const Array expected = along(from.values, from.front, softmax_of);
  const Array range = along(from.values, from.front, [](const std::vector<double>& row) {
    return std::vector<double>(row.size(), 1 + 2 * largest_size(row));
  });
  return {.inputs = {from.x},
          .call = [axis = from.axis](const Tensors& in) { return softmax(in[0], axis); },
          .expected = expected,
          .dtype = from.dtype,
          .magnitude = expected * range,
          .length = from.length,
          .constant = from.length == 1};
}

Case draw_log_softmax(Draw& draw) {
  const AlongAxis from(draw, draw.one_of({2.0, 15.0}));
  const Array range = along(from.values, from.front, [](const std::vector<double>& row) {
    return std::vector<double>(row.size(), 1 + 2 * largest_size(row));
  });
  return {.inputs = {from.x},
          .call = [axis = from.axis](const Tensors& in) { return log_softmax(in[0], axis); },
          .expected = along(from.values, from.front, log_softmax_of),
          .dtype = from.dtype,
          .magnitude = range,
          .length = from.length,
          .constant = from.length == 1};
}

Case draw_cumsum(Draw& draw) {
  const AlongAxis from(draw, 2);
  const bool reverse = draw.chance(0.5);
  const auto running = [reverse](std::vector<double> row) {
    if (reverse) std::reverse(row.begin(), row.end());
    std::partial_sum(row.begin(), row.end(), row.begin());
    if (reverse) std::reverse(row.begin(), row.end());
    return row;
  };
  return {.inputs = {from.x},
          .call = [axis = from.axis, reverse](const Tensors& in) { return cumsum(in[0], axis, {.reverse = reverse}); },
          .expected = along(from.values, from.front, running),
          .dtype = from.dtype,
          .magnitude = along(Array(xt::abs(from.values)), from.front, running),
          .length = from.length};
}

/// x with at least one value per row, with weight and bias or neither.
struct NormInputs {
  explicit NormInputs(Draw& draw, bool with_bias) : dtype(draw.floating()) {
    Shape shape = draw.shape(1);
    if (shape[shape.rank() - 1] == 0) shape = shape.with(shape.rank() - 1, 3);
    inputs.push_back(draw.values(shape, dtype));
    width = shape[shape.rank() - 1];
    if (draw.chance(0.7)) {
      inputs.push_back(draw.values({width}, dtype));
      if (with_bias) inputs.push_back(draw.values({width}, dtype));
    }
    eps = draw.one_of({1e-5, 1e-2});
  }
  DType dtype;
  Tensors inputs = {};
  int64_t width = 0;
  double eps = 0;
};

Array scaled(Array rows, const Tensors& inputs, bool sizes) {
  if (inputs.size() > 1) rows = rows * (sizes ? Array(xt::abs(exact(inputs[1]))) : exact(inputs[1]));
  if (inputs.size() > 2) rows = rows + (sizes ? Array(xt::abs(exact(inputs[2]))) : exact(inputs[2]));
  return rows;
}

Case draw_layer_norm(Draw& draw) {
  const NormInputs from(draw, true);
  const double n = static_cast<double>(from.width), eps = from.eps;
  const int64_t last = from.inputs[0].rank() - 1;
  const auto normalized = [=](std::vector<double> row, bool sizes) {
    const double mean = sum_of(row) / n;
    double squares = 0, largest = largest_size(row);
    for (const double value : row) squares += (value - mean) * (value - mean);
    const double rstd = 1 / std::sqrt(squares / n + eps);
    for (double& value : row) value = sizes ? 2 * largest * rstd : (value - mean) * rstd;
    return row;
  };
  const auto part = [&](bool sizes) {
    const Array rows = along(exact(from.inputs[0]), last, [&](auto row) { return normalized(row, sizes); });
    return scaled(rows, from.inputs, sizes);
  };
  return {.inputs = from.inputs,
          .call =
              [eps](const Tensors& in) {
                return in.size() == 1 ? layer_norm(in[0], {}, {}, eps) : layer_norm(in[0], in[1], in[2], eps);
              },
          .expected = part(false),
          .dtype = from.dtype,
          .magnitude = part(true),
          .length = from.width,
          .constant = from.width == 1};
}

Case draw_rms_norm(Draw& draw) {
  const NormInputs from(draw, false);
  const double n = static_cast<double>(from.width), eps = from.eps;
  const auto normalized = [=](std::vector<double> row) {
    double squares = 0;
    for (const double value : row) squares += value * value;
    for (double& value : row) value /= std::sqrt(squares / n + eps);
    return row;
  };
  const Array rows = along(exact(from.inputs[0]), from.inputs[0].rank() - 1, normalized);
  return {.inputs = from.inputs,
          .call = [eps](const Tensors& in) { return rms_norm(in[0], in.size() > 1 ? in[1] : Tensor(), eps); },
          .expected = scaled(rows, from.inputs, false),
          .dtype = from.dtype,
          .length = from.width,
          .constant = from.width == 1};  // except for eps
}

/// Recomputes the random values from the 64-bit draws.
Case draw_gumbel_softmax(Draw& draw) {
  const AlongAxis from(draw, 2);
  const double tau = draw.one_of({0.5, 1.0, 3.0});
  const uint64_t seed = static_cast<uint64_t>(draw.between(1, 1000));
  Array moved = from.values;
  for (size_t i = 0; i < moved.size(); ++i) {
    const double u = (static_cast<double>(kernels::philox_draw64(seed, i) >> 12) + 0.5) * 0x1p-52;
    moved.data()[i] = (moved.data()[i] - std::log(-std::log(u))) / tau;
  }
  const Array range = along(moved, from.front, [](const std::vector<double>& row) {
    return std::vector<double>(row.size(), 1 + 2 * largest_size(row));
  });
  const Array expected = along(moved, from.front, softmax_of);
  return {.inputs = {from.x},
          .call =
              [=, axis = from.axis](const Tensors& in) {
                Generator stream(seed);
                return gumbel_softmax(in[0], {.tau = tau, .axis = axis}, stream);
              },
          .expected = expected,
          .dtype = from.dtype,
          .magnitude = expected * range,
          .length = from.length + 2,
          .constant = from.length == 1};
}

}  // namespace

void add_rows(std::vector<Property>& all) {
  all.insert(all.end(), {{"softmax", "softmax", draw_softmax},
                         {"log_softmax", "log_softmax", draw_log_softmax},
                         {"gumbel_softmax", "gumbel_softmax", draw_gumbel_softmax},
                         {"cumsum", "cumsum", draw_cumsum},
                         {"layer_norm", "layer_norm", draw_layer_norm},
                         {"rms_norm", "rms_norm", draw_rms_norm}});
}

}  // namespace tape::properties
