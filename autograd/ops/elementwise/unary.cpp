#include "autograd/ops/elementwise/unary.h"

#include <cmath>
#include <numbers>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary_call.h"

namespace tape {

namespace {

using kernels::UnaryKernels;

/// Recompute rule of operations that only need their operand.
template <Tensor (*f)(const Tensor&)>
Tensor recompute_from_x(const Tensors& saved, const Attributes&) {
  return f(saved[0]);
}

const UnaryOp neg_op({.name = "neg", .formula = {.forward = "y{y} = −x", .backward = {"dx = −dy"}}}, &UnaryKernels::neg,
                     [](Context c) { return -c.grad(); });

const UnaryOp abs_op({.name = "abs",
                      .formula = {.forward = "y{y} = |x|", .backward = {"dx = dy ⊙ sign(x)"}},
                      .traits = {.has_kinks = true}},
                     &UnaryKernels::abs, [](Context c) { return c.grad() * sign(c.saved(0).detach()); });

const UnaryOp sign_op({.name = "sign",
                       .formula = {.forward = "y{y} = sign(x)", .backward = {"dx = 0"}},
                       .traits = {.has_kinks = true}},
                      &UnaryKernels::sign, [](Context c) { return zeros_like(c.grad()); });

const UnaryOp square_op({.name = "square", .formula = {.forward = "y{y} = x²", .backward = {"dx = 2 x ⊙ dy"}}},
                        &UnaryKernels::square, [](Context c) { return c.grad() * (2 * c.saved(0)); });

const UnaryOp reciprocal_op({.name = "reciprocal",
                             .formula = {.forward = "y{y} = 1 / x", .backward = {"dx = −dy ⊙ y²"}}},
                            &UnaryKernels::reciprocal, [](Context c) { return -(c.grad() * square(c.saved(0))); });

const UnaryOp exp_op({.name = "exp", .formula = {.forward = "y{y} = exp x", .backward = {"dx = dy ⊙ y"}}},
                     &UnaryKernels::exp, [](Context c) { return c.grad() * c.saved(0); });

const UnaryOp log_op({.name = "log", .formula = {.forward = "y{y} = ln x", .backward = {"dx = dy / x"}}},
                     &UnaryKernels::log, [](Context c) { return c.grad() / c.saved(0); });

const UnaryOp sqrt_op({.name = "sqrt", .formula = {.forward = "y{y} = √x", .backward = {"dx = dy / (2y)"}}},
                      &UnaryKernels::sqrt, [](Context c) { return c.grad() / (2 * c.saved(0)); });

const UnaryOp rsqrt_op({.name = "rsqrt", .formula = {.forward = "y{y} = 1 / √x", .backward = {"dx = −dy ⊙ y³ / 2"}}},
                       &UnaryKernels::rsqrt, [](Context c) { return c.grad() * (-0.5 * pow(c.saved(0), 3)); });

const UnaryOp sin_op({.name = "sin", .formula = {.forward = "y{y} = sin x", .backward = {"dx = dy ⊙ cos x"}}},
                     &UnaryKernels::sin, [](Context c) { return c.grad() * cos(c.saved(0)); });

const UnaryOp cos_op({.name = "cos", .formula = {.forward = "y{y} = cos x", .backward = {"dx = −dy ⊙ sin x"}}},
                     &UnaryKernels::cos, [](Context c) { return -(c.grad() * sin(c.saved(0))); });

const UnaryOp tanh_op({.name = "tanh", .formula = {.forward = "y{y} = tanh x", .backward = {"dx = dy ⊙ (1 − y²)"}}},
                      &UnaryKernels::tanh, [](Context c) { return c.grad() * (1 - square(c.saved(0))); });

const UnaryOp sigmoid_op({.name = "sigmoid",
                          .formula = {.forward = "y{y} = 1 / (1 + exp(−x))", .backward = {"dx = dy ⊙ y ⊙ (1 − y)"}}},
                         &UnaryKernels::sigmoid, [](Context c) {
                           const Tensor s = c.saved(0);
                           return c.grad() * (s * (1 - s));
                         });

const UnaryOp erf_op({.name = "erf", .formula = {.forward = "y{y} = erf x", .backward = {"dx = dy ⊙ 2/√π · exp(−x²)"}}},
                     &UnaryKernels::erf,
                     [](Context c) { return c.grad() * (2 * std::numbers::inv_sqrtpi * exp(-square(c.saved(0)))); });

const UnaryOp relu_op({.name = "relu",
                       .formula = {.forward = "y{y} = max(x, 0)", .backward = {"dx = dy where x > 0, else 0"}},
                       .traits = {.has_kinks = true, .is_relu_like = true}},
                      &UnaryKernels::relu, [](Context c) {
                        const Tensor value = c.saved(0).detach();
                        return masked_fill(c.grad(), le(value, 0), 0);
                      });

const UnaryOp gelu_op({.name = "gelu",
                       .formula = {.forward = "y{y} = x ⊙ Φ(x), Φ(x) = (1 + erf(x/√2)) / 2",
                                   .backward = {"dx = dy ⊙ (Φ(x) + x ⊙ φ(x)), φ(x) = exp(−x²/2) / √(2π)"}},
                       .recompute = recompute_from_x<gelu>},
                      &UnaryKernels::gelu, [](Context c) {
                        const Tensor v = within_limits(c.saved(0));
                        const Tensor cumulative = 0.5 * (1 + erf(v * (1 / std::numbers::sqrt2)));
                        const Tensor density = exp(-0.5 * square(v)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
                        return c.grad() * (cumulative + v * density);
                      });

const UnaryOp gelu_tanh_op(
    {.name = "gelu_tanh",
     .formula = {.forward = "y{y} = x/2 ⊙ (1 + t), t = tanh(k (x + a x³)), k = √(2/π), a = 0.044715",
                 .backward = {"dx = dy ⊙ ((1 + t)/2 + x/2 ⊙ (1 − t²) ⊙ k (1 + 3a x²))"}},
     .recompute = recompute_from_x<gelu_tanh>},
    &UnaryKernels::gelu_tanh, [](Context c) {
      constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, a = 0.044715;
      const Tensor v = within_limits(c.saved(0));
      const Tensor t = tanh(k * (v + a * pow(v, 3)));
      const Tensor slope = k * (1 + 3 * a * square(v));
      return c.grad() * (0.5 * (1 + t) + 0.5 * v * (1 - square(t)) * slope);
    });

const UnaryOp silu_op({.name = "silu",
                       .formula = {.forward = "y{y} = x ⊙ s, s = sigmoid(x)",
                                   .backward = {"dx = dy ⊙ s ⊙ (1 + x ⊙ (1 − s))"}},
                       .recompute = recompute_from_x<silu>},
                      &UnaryKernels::silu, [](Context c) {
                        const Tensor v = within_limits(c.saved(0));
                        const Tensor s = sigmoid(v);
                        return c.grad() * (s * (1 + v * (1 - s)));
                      });

const Op clamp_op({.name = "clamp",
                   .formula = {.forward = "y{y} = min(max(x, {low}), {high})",
                               .backward = {"dx = dy where {low} ≤ x ≤ {high}, else 0"}},
                   .traits = {.has_kinks = true}});

}  // namespace

Tensor operator-(const Tensor& x) { return neg(x); }

Tensor neg(const Tensor& x) {
  if (is_integral(x.dtype())) return affine(x, -1, 0);
  return neg_op(x);
}
Tensor abs(const Tensor& x) { return abs_op(x); }
Tensor sign(const Tensor& x) { return sign_op(x); }
Tensor square(const Tensor& x) { return square_op(x); }
Tensor reciprocal(const Tensor& x) { return reciprocal_op(x); }
Tensor exp(const Tensor& x) { return exp_op(x); }
Tensor log(const Tensor& x) { return log_op(x); }
Tensor sqrt(const Tensor& x) { return sqrt_op(x); }
Tensor rsqrt(const Tensor& x) { return rsqrt_op(x); }
Tensor sin(const Tensor& x) { return sin_op(x); }
Tensor cos(const Tensor& x) { return cos_op(x); }
Tensor tanh(const Tensor& x) { return tanh_op(x); }
Tensor sigmoid(const Tensor& x) { return sigmoid_op(x); }
Tensor erf(const Tensor& x) { return erf_op(x); }
Tensor relu(const Tensor& x) { return relu_op(x); }
Tensor gelu(const Tensor& x) { return gelu_op(x); }
Tensor gelu_tanh(const Tensor& x) { return gelu_tanh_op(x); }
Tensor silu(const Tensor& x) { return silu_op(x); }
Tensor clamp(const Tensor& x, double low, double high) {
  if (x.dtype() == boolean) raise(ErrorKind::dtype, "clamp: needs numbers, got bool");
  if (std::isnan(low) || std::isnan(high))
    raise(ErrorKind::config, "clamp: bounds must be numbers, got {} and {}", low, high);
  if (low > high) raise(ErrorKind::config, "clamp: the lower bound {} is above the upper bound {}", low, high);
  if (is_integral(x.dtype())) {
    const auto is_whole = [](double bound) { return bound == std::trunc(bound); };  // or infinite
    if (!is_whole(low) || !is_whole(high)) return clamp(cast(x, f32), low, high);
  }
  Tensor y = x.detach();
  if (low != -INFINITY || is_floating(x.dtype())) y = maximum(y, scalar(low, x.options()));
  if (high != INFINITY || is_floating(x.dtype())) y = minimum(y, scalar(high, x.options()));
  return record(clamp_op, {x}, y, {x},
                [low, high](const BackwardContext& c) -> Tensors {
                  const Tensor v = c.saved(0).detach();
                  return {c.grad() * cast(logical_and(ge(v, low), le(v, high)), v.dtype())};
                },
                {{"low", low}, {"high", high}});
}

}  // namespace tape
