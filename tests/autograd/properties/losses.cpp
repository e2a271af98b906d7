// Losses: loops over the formula.

#include <algorithm>
#include <cmath>
#include <numbers>

#include <xtensor/xmath.hpp>

#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/loss/regression_loss.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// The mean, the sum or the individual losses.
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

/// Class targets and all options of a loss.
struct ClassTargets {
  ClassTargets(Draw& draw, const Shape& shape, int64_t number_of_classes, bool of_scores)
      : leading(shape),
        classes(number_of_classes),
        of_logits(of_scores),
        ignored(draw.one_of<int64_t>({-100, 0})),
        target(draw.whole(leading, i64, 0, classes - 1)),
        reduction(any_reduction(draw)),
        smoothing(of_logits && draw.chance(0.5) ? 0.1 : 0),
        weight(draw.chance(0.4) ? draw.values({classes}, f64, 0.2, 2) : Tensor()) {}

  CrossEntropyOptions options(DType dtype) const {
    return {.ignore_index = ignored,
            .label_smoothing = smoothing,
            .weight = weight.defined() ? weight.to(dtype) : Tensor(),
            .reduction = reduction};
  }

  /// A loss of scores [..., classes], whose rounding is relative to `magnitudes`.
  Losses losses_of(const Array& scores, const Array& magnitudes) const {
    const Array targets = exact(target);
    const Array factors = weight.defined() ? exact(weight) : Array(xt::ones<double>({classes}));
    double divisor = 0;
    Array losses = zeros_of(leading), sizes = losses;
    for (int64_t i = 0; i < leading.numel(); ++i) {
      const int64_t chosen = static_cast<int64_t>(targets.data()[i]);
      if (chosen == ignored) continue;
      std::vector<double> row(scores.data() + i * classes, scores.data() + (i + 1) * classes);
      const double largest = *std::max_element(magnitudes.data() + i * classes, magnitudes.data() + (i + 1) * classes);
      double total = 0;
      for (const double value : row) total += std::exp(value);
      for (double& value : row) value -= of_logits ? std::log(total) : 0;
      for (int64_t v = 0; v < classes; ++v) {
        const double share = (v == chosen ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
        losses.data()[i] -= share * factors.data()[v] * row[static_cast<size_t>(v)];
        sizes.data()[i] += share * factors.data()[v] * (1 + 2 * largest);
      }
      divisor += factors.data()[chosen];
    }
    return reduced(losses, sizes, reduction, divisor);
  }

  Shape leading;
  int64_t classes;
  bool of_logits;
  int64_t ignored;
  Tensor target;
  Reduction reduction;
  double smoothing;
  Tensor weight;
};

Case class_loss(Draw& draw, bool of_logits) {
  const DType dtype = draw.floating();
  const Shape leading = draw.shape(0, 3);
  const int64_t classes = draw.between(1, 9);
  const Tensor x = draw.values(leading.inserted(leading.rank(), classes), dtype, -4, of_logits ? 4 : 0);
  const ClassTargets targets(draw, leading, classes, of_logits);
  const Losses result = targets.losses_of(exact(x), xt::abs(exact(x)));
  return {.inputs = {x},
          .call =
              [=](const Tensors& in) {
                const CrossEntropyOptions o = targets.options(in[0].dtype());
                if (of_logits) return cross_entropy(in[0], targets.target, o);
                return nll_loss(in[0], targets.target,
                                {.ignore_index = o.ignore_index, .weight = o.weight, .reduction = o.reduction});
              },
          .expected = result.expected,
          .dtype = dtype,
          .magnitude = result.magnitude,
          .length = result.length + classes,
          .constant = of_logits && classes == 1};
}
Case draw_cross_entropy(Draw& draw) { return class_loss(draw, true); }
Case draw_nll_loss(Draw& draw) { return class_loss(draw, false); }

Case draw_linear_cross_entropy(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape leading = draw.shape(0, 3);
  const int64_t classes = draw.between(1, 9), width = draw.size(), rows = draw.between(1, 5);
  const Tensor x = draw.values(leading.inserted(leading.rank(), width), dtype);
  const Tensor weight = draw.values({classes, width}, dtype), bias = draw.values({classes}, dtype);
  const bool with_bias = draw.chance(0.6);
  const Array values = exact(x), w = exact(weight), added = exact(bias);
  Array scores = zeros_of(leading.inserted(leading.rank(), classes)), sizes = scores;
  for (int64_t i = 0; i < std::ssize(scores); ++i) {
    const int64_t row = i / classes, v = i % classes;
    const double start = with_bias ? added.data()[v] : 0;
    scores.data()[i] = start;
    sizes.data()[i] = std::abs(start);
    for (int64_t k = 0; k < width; ++k) {
      const double product = values.data()[row * width + k] * w.data()[v * width + k];
      scores.data()[i] += product;
      sizes.data()[i] += std::abs(product);
    }
  }
  const ClassTargets targets(draw, leading, classes, true);
  const Losses result = targets.losses_of(scores, sizes);
  return {.inputs = with_bias ? Tensors{x, weight, bias} : Tensors{x, weight},
          .call =
              [=](const Tensors& in) {
                return linear_cross_entropy(in[0], in[1], with_bias ? in[2] : Tensor(), targets.target,
                                            targets.options(in[0].dtype()), rows);
              },
          .expected = result.expected,
          .dtype = dtype,
          .magnitude = result.magnitude,
          .length = result.length + classes + width,
          .constant = classes == 1};
}

/// An elementwise loss `loss(x, t)`, and the magnitude that its rounding is relative to.
template <class Call, class Loss, class Size>
Case element_loss(Draw& draw, const Call& f, double low, double high, const Loss& loss, const Size& size) {
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
  const double w = draw.one_of({1.0, 0.4, 3.0});
  const auto call = [w](const Tensor& x, const Tensor& t, Reduction r) {
    return bce_with_logits_loss(x, t, {.pos_weight = w == 1 ? Tensor() : scalar(w, x.dtype()), .reduction = r});
  };
  return element_loss(
      draw, call, -9, 9,
      [w](double x, double t) { return w * t * std::log1p(std::exp(-x)) + (1 - t) * std::log1p(std::exp(x)); },
      [w](double x, double) { return (1 + w) * (1 + 2 * std::abs(x)); });
}
/// Distances below the limit enter squared.
double huber(double x, double t, double limit) {
  const double d = std::abs(x - t);
  return d < limit ? d * d / 2 : limit * (d - limit / 2);
}
Case draw_smooth_l1_loss(Draw& draw) {
  const double beta = draw.one_of({0.1, 1.0, 2.5});
  const auto call = [beta](const Tensor& x, const Tensor& t, Reduction r) {
    return smooth_l1_loss(x, t, {.beta = beta, .reduction = r});
  };
  return element_loss(
      draw, call, -4, 4, [beta](double x, double t) { return huber(x, t, beta) / beta; },
      [beta](double x, double t) { return (std::abs(x) + t) * (1 + std::abs(x - t) / beta); });
}
Case draw_huber_loss(Draw& draw) {
  const double delta = draw.one_of({0.1, 1.0, 2.5});
  const auto call = [delta](const Tensor& x, const Tensor& t, Reduction r) {
    return huber_loss(x, t, {.delta = delta, .reduction = r});
  };
  return element_loss(
      draw, call, -4, 4, [delta](double x, double t) { return huber(x, t, delta); },
      [delta](double x, double t) { return (std::abs(x) + t) * (delta + std::abs(x - t)); });
}
Case draw_kl_div(Draw& draw) {
  const bool log_target = draw.chance(0.5);
  const auto call = [log_target](const Tensor& x, const Tensor& t, Reduction r) {
    const KlReduction reduction = r == Reduction::none  ? KlReduction::none
                                  : r == Reduction::sum ? KlReduction::sum
                                                        : KlReduction::mean;
    return kl_div(x, t, {.log_target = log_target, .reduction = reduction});
  };
  return element_loss(
      draw, call, -4, 1, [=](double x, double t) { return log_target ? std::exp(t) * (t - x) : t * (std::log(t) - x); },
      [](double x, double t) { return 4 * (1 + std::abs(x) - t * std::log(t)); });
}
Case draw_gaussian_nll_loss(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape(1);
  const int64_t last = shape.rank() - 1;
  const Shape of_variances = draw.chance(0.3) ? shape.removed(last) : draw.chance(0.5) ? shape.with(last, 1) : shape;
  const bool full = draw.chance(0.5);
  const Tensor x = draw.values(shape, dtype), t = draw.values(shape, dtype),
               var = draw.values(of_variances, dtype, 0.3, 2);
  const Array a = exact(x), b = exact(t), v = exact(var);
  const auto loss = [&](const Index& index, bool size) {
    Index of_variance = index;
    if (of_variances.rank() <= last) of_variance.pop_back();
    if (of_variances.rank() > last && of_variances[last] == 1) of_variance.back() = 0;
    const double d = at(a, index) - at(b, index), variance = at(v, of_variance);
    if (size) return 2 + std::pow(std::abs(at(a, index)) + std::abs(at(b, index)), 2) / variance;
    return (std::log(variance) + d * d / variance + (full ? std::log(2 * std::numbers::pi) : 0)) / 2;
  };
  return {.inputs = {x, t, var},
          .call =
              [full](const Tensors& in) {
                return gaussian_nll_loss(in[0], in[1], in[2], {.full = full, .reduction = Reduction::none});
              },
          .expected = build(shape, [&](const Index& index) { return loss(index, false); }),
          .dtype = dtype,
          .magnitude = build(shape, [&](const Index& index) { return loss(index, true); })};
}

}  // namespace

void add_losses(std::vector<Property>& all) {
  all.insert(all.end(), {{"cross_entropy", "cross_entropy", draw_cross_entropy},
                         {"linear_cross_entropy", "linear_cross_entropy", draw_linear_cross_entropy},
                         {"nll_loss", "gather", draw_nll_loss},
                         {"mse_loss", "square", draw_mse_loss},
                         {"l1_loss", "abs", draw_l1_loss},
                         {"bce_loss", "bce_loss", draw_bce_loss},
                         {"bce_with_logits_loss", "bce_with_logits_loss", draw_bce_with_logits_loss},
                         {"smooth_l1_loss", "smooth_l1_loss", draw_smooth_l1_loss},
                         {"huber_loss", "huber_loss", draw_huber_loss},
                         {"kl_div", "kl_div", draw_kl_div},
                         {"gaussian_nll_loss", "gaussian_nll_loss", draw_gaussian_nll_loss}});
}

}  // namespace tape::properties
