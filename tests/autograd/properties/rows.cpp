// What looks at whole rows: softmax, norms, running sums and losses, as loops over the formula.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <xtensor/xmath.hpp>

#include "autograd/ops/loss.h"
#include "autograd/ops/norm.h"
#include "autograd/ops/order.h"
#include "autograd/ops/softmax.h"
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

/// A tensor with at least one axis, and one of them.
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

/// x with at least one value a row, and a weight and a bias, or neither.
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
          .constant = from.width == 1};  // but for eps
}

/// The mean, the sum or each of the losses.
struct Losses {
  Array expected, magnitude;
  int64_t length;
};
Losses reduced(const Array& losses, const Array& sizes, Reduction reduction, double divisor) {
  const int64_t n = std::max<int64_t>(1, static_cast<int64_t>(losses.size()));
  if (reduction == Reduction::none) return {losses, sizes, 1};
  double total = 0, size = 0;
  for (size_t i = 0; i < losses.size(); ++i) total += losses.data()[i], size += sizes.data()[i];
  const double by = reduction == Reduction::mean ? divisor : 1;
  return {Array(by == 0 ? 0 : total / by), Array(by == 0 ? 0 : size / by), n};
}
Reduction any_reduction(Draw& draw) { return draw.one_of({Reduction::mean, Reduction::sum, Reduction::none}); }

Case class_loss(Draw& draw, bool of_logits) {
  const DType dtype = draw.floating();
  const Shape leading = draw.shape(0, 3);
  const int64_t classes = draw.between(1, 9), ignored = draw.one_of<int64_t>({-100, 0});
  const Tensor x = draw.values(leading.inserted(leading.rank(), classes), dtype, -4, of_logits ? 4 : 0);
  Tensor target = draw.whole(leading, i64, 0, classes - 1);
  const Reduction reduction = any_reduction(draw);
  const double smoothing = of_logits && draw.chance(0.5) ? 0.1 : 0;
  const Tensor weight = draw.chance(0.4) ? draw.values({classes}, f64, 0.2, 2) : Tensor();
  const Array values = exact(x), targets = exact(target);
  const Array factors = weight.defined() ? exact(weight) : Array(xt::ones<double>({classes}));
  double divisor = 0;
  Array losses = zeros_of(leading), sizes = losses;
  for (int64_t i = 0; i < leading.numel(); ++i) {
    const int64_t chosen = static_cast<int64_t>(targets.data()[i]);
    if (chosen == ignored) continue;
    std::vector<double> row(values.data() + i * classes, values.data() + (i + 1) * classes);
    const double largest = largest_size(row);
    if (of_logits) row = log_softmax_of(row);
    for (int64_t v = 0; v < classes; ++v) {
      const double share = (v == chosen ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      losses.data()[i] -= share * factors.data()[v] * row[static_cast<size_t>(v)];
      sizes.data()[i] += share * factors.data()[v] * (1 + 2 * largest);
    }
    divisor += factors.data()[chosen];
  }
  const Losses result = reduced(losses, sizes, reduction, divisor);
  return {.inputs = {x},
          .call =
              [=](const Tensors& in) {
                const Tensor factor = weight.defined() ? weight.to(in[0].dtype()) : Tensor();
                if (!of_logits)
                  return nll_loss(in[0], target, {.ignore_index = ignored, .weight = factor, .reduction = reduction});
                return cross_entropy(
                    in[0], target,
                    {.ignore_index = ignored, .label_smoothing = smoothing, .weight = factor, .reduction = reduction});
              },
          .expected = result.expected,
          .dtype = dtype,
          .magnitude = result.magnitude,
          .length = result.length + classes,
          .constant = of_logits && classes == 1};
}
Case draw_cross_entropy(Draw& draw) { return class_loss(draw, true); }
Case draw_nll_loss(Draw& draw) { return class_loss(draw, false); }

using ElementLoss = Tensor (*)(const Tensor&, const Tensor&, Reduction);

/// A loss of single elements; `loss(x, t)`, and what its rounding is relative to.
template <class Loss, class Size>
Case element_loss(Draw& draw, ElementLoss f, double low, double high, const Loss& loss, const Size& size) {
  const DType dtype = draw.floating();
  Shape shape = draw.shape();
  const Reduction reduction = any_reduction(draw);
  if (reduction == Reduction::mean && shape.numel() == 0) shape = {2};
  const Tensor x = draw.values(shape, dtype, low, high), target = draw.values(shape, dtype, 0.05, 0.95);
  const Array a = exact(x), t = exact(target);
  Array losses = zeros_of(shape), sizes = losses;
  for (size_t i = 0; i < losses.size(); ++i) {
    losses.data()[i] = loss(a.data()[i], t.data()[i]);
    sizes.data()[i] = size(a.data()[i], t.data()[i]);
  }
  const Losses result = reduced(losses, sizes, reduction, static_cast<double>(shape.numel()));
  return {.inputs = {x, target},
          .call = [=](const Tensors& in) { return f(in[0], in[1], reduction); },
          .expected = result.expected,
          .dtype = dtype,
          .magnitude = result.magnitude,
          .length = result.length};
}
Case draw_mse_loss(Draw& draw) {
  return element_loss(
      draw, mse_loss, -2, 2, [](double x, double t) { return (x - t) * (x - t); },
      [](double x, double t) { return std::abs(x - t) * (std::abs(x) + t); });
}
Case draw_l1_loss(Draw& draw) {
  return element_loss(
      draw, l1_loss, -3, 0, [](double x, double t) { return std::abs(x - t); },
      [](double x, double t) { return std::abs(x) + t; });
}
Case draw_bce_loss(Draw& draw) {
  return element_loss(
      draw, bce_loss, 0.05, 0.95, [](double x, double t) { return -(t * std::log(x) + (1 - t) * std::log(1 - x)); },
      [](double x, double t) { return 1 - t * std::log(x) - (1 - t) * std::log(1 - x); });
}
Case draw_bce_with_logits_loss(Draw& draw) {
  return element_loss(
      draw, bce_with_logits_loss, -9, 9, [](double x, double t) { return std::log1p(std::exp(x)) - x * t; },
      [](double x, double) { return 1 + 2 * std::abs(x); });
}

}  // namespace

void add_rows(std::vector<Property>& all) {
  all.insert(all.end(), {{"softmax", "softmax", draw_softmax},
                         {"log_softmax", "log_softmax", draw_log_softmax},
                         {"cumsum", "cumsum", draw_cumsum},
                         {"layer_norm", "layer_norm", draw_layer_norm},
                         {"rms_norm", "rms_norm", draw_rms_norm},
                         {"cross_entropy", "cross_entropy", draw_cross_entropy},
                         {"nll_loss", "gather", draw_nll_loss},
                         {"mse_loss", "square", draw_mse_loss},
                         {"l1_loss", "abs", draw_l1_loss},
                         {"bce_loss", "log", draw_bce_loss},
                         {"bce_with_logits_loss", "sum", draw_bce_with_logits_loss}});
}

}  // namespace tape::properties
