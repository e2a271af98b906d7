#include "autograd/ops/elementwise/unary.h"

#include <numbers>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary_call.h"

namespace tape {

namespace {

using kernels::UnaryKernels;

/// Of what keeps its operand alone.
template <Tensor (*f)(const Tensor&)>
Tensor made_of_x(const Tensors& saved, const Attributes&) {
  return f(saved[0]);
}

const Op neg_op({.name = "neg", .formula = {.forward = "y{y} = −x", .backward = {"dx = −dy"}}});

const Op abs_op({.name = "abs",
                 .formula = {.forward = "y{y} = |x|", .backward = {"dx = dy ⊙ sign(x)"}},
                 .traits = {.kinks = true}});

const Op sign_op({.name = "sign",
                  .formula = {.forward = "y{y} = sign(x)", .backward = {"dx = 0"}},
                  .traits = {.kinks = true}});

const Op square_op({.name = "square", .formula = {.forward = "y{y} = x²", .backward = {"dx = 2 x ⊙ dy"}}});

const Op reciprocal_op({.name = "reciprocal", .formula = {.forward = "y{y} = 1 / x", .backward = {"dx = −dy ⊙ y²"}}});

const Op exp_op({.name = "exp", .formula = {.forward = "y{y} = exp x", .backward = {"dx = dy ⊙ y"}}});

const Op log_op({.name = "log", .formula = {.forward = "y{y} = ln x", .backward = {"dx = dy / x"}}});

const Op sqrt_op({.name = "sqrt", .formula = {.forward = "y{y} = √x", .backward = {"dx = dy / (2y)"}}});

const Op rsqrt_op({.name = "rsqrt", .formula = {.forward = "y{y} = 1 / √x", .backward = {"dx = −dy ⊙ y³ / 2"}}});

const Op sin_op({.name = "sin", .formula = {.forward = "y{y} = sin x", .backward = {"dx = dy ⊙ cos x"}}});

const Op cos_op({.name = "cos", .formula = {.forward = "y{y} = cos x", .backward = {"dx = −dy ⊙ sin x"}}});

const Op tanh_op({.name = "tanh", .formula = {.forward = "y{y} = tanh x", .backward = {"dx = dy ⊙ (1 − y²)"}}});

const Op sigmoid_op({.name = "sigmoid",
                     .formula = {.forward = "y{y} = 1 / (1 + exp(−x))", .backward = {"dx = dy ⊙ y ⊙ (1 − y)"}}});

const Op erf_op({.name = "erf", .formula = {.forward = "y{y} = erf x", .backward = {"dx = dy ⊙ 2/√π · exp(−x²)"}}});

const Op relu_op({.name = "relu",
                  .formula = {.forward = "y{y} = max(x, 0)", .backward = {"dx = dy where x > 0, else 0"}},
                  .traits = {.kinks = true, .rectifies = true}});

const Op gelu_op({.name = "gelu",
                  .formula = {.forward = "y{y} = x ⊙ Φ(x), Φ(x) = (1 + erf(x/√2)) / 2",
                              .backward = {"dx = dy ⊙ (Φ(x) + x ⊙ φ(x)), φ(x) = exp(−x²/2) / √(2π)"}},
                  .remake = made_of_x<gelu>});

const Op gelu_tanh_op({.name = "gelu_tanh",
                       .formula = {.forward = "y{y} = x/2 ⊙ (1 + t), t = tanh(k (x + a x³)), k = √(2/π), a = 0.044715",
                                   .backward = {"dx = dy ⊙ ((1 + t)/2 + x/2 ⊙ (1 − t²) ⊙ k (1 + 3a x²))"}},
                       .remake = made_of_x<gelu_tanh>});

const Op silu_op({.name = "silu",
                  .formula = {.forward = "y{y} = x ⊙ s, s = sigmoid(x)",
                              .backward = {"dx = dy ⊙ s ⊙ (1 + x ⊙ (1 − s))"}},
                  .remake = made_of_x<silu>});

const Op clamp_op({.name = "clamp",
                   .formula = {.forward = "y{y} = min(max(x, {low}), {high})",
                               .backward = {"dx = dy where {low} ≤ x ≤ {high}, else 0"}},
                   .traits = {.kinks = true}});

}  // namespace

Tensor operator-(const Tensor& x) { return neg(x); }

Tensor neg(const Tensor& x) {
  if (is_integral(x.dtype())) return affine(x, -1, 0);
  return apply_unary(neg_op, &UnaryKernels::neg, x, [](const BackwardContext& c) { return -c.grad(); });
}

Tensor abs(const Tensor& x) {
  return apply_unary(abs_op, &UnaryKernels::abs, x,
                     [](const BackwardContext& c) { return c.grad() * sign(c.saved(0).detach()); });
}

Tensor sign(const Tensor& x) {
  return apply_unary(sign_op, &UnaryKernels::sign, x, [](const BackwardContext& c) { return zeros_like(c.grad()); });
}

Tensor square(const Tensor& x) {
  return apply_unary(square_op, &UnaryKernels::square, x,
                     [](const BackwardContext& c) { return c.grad() * (2 * c.saved(0)); });
}

Tensor reciprocal(const Tensor& x) {
  return apply_unary(reciprocal_op, &UnaryKernels::reciprocal, x,
                     [](const BackwardContext& c) { return -(c.grad() * square(c.saved(0))); });
}

Tensor exp(const Tensor& x) {
  return apply_unary(exp_op, &UnaryKernels::exp, x, [](const BackwardContext& c) { return c.grad() * c.saved(0); });
}

Tensor log(const Tensor& x) {
  return apply_unary(log_op, &UnaryKernels::log, x, [](const BackwardContext& c) { return c.grad() / c.saved(0); });
}

Tensor sqrt(const Tensor& x) {
  return apply_unary(sqrt_op, &UnaryKernels::sqrt, x,
                     [](const BackwardContext& c) { return c.grad() / (2 * c.saved(0)); });
}

Tensor rsqrt(const Tensor& x) {
  return apply_unary(rsqrt_op, &UnaryKernels::rsqrt, x,
                     [](const BackwardContext& c) { return c.grad() * (-0.5 * pow(c.saved(0), 3)); });
}

Tensor sin(const Tensor& x) {
  return apply_unary(sin_op, &UnaryKernels::sin, x,
                     [](const BackwardContext& c) { return c.grad() * cos(c.saved(0)); });
}

Tensor cos(const Tensor& x) {
  return apply_unary(cos_op, &UnaryKernels::cos, x,
                     [](const BackwardContext& c) { return -(c.grad() * sin(c.saved(0))); });
}

Tensor tanh(const Tensor& x) {
  return apply_unary(tanh_op, &UnaryKernels::tanh, x,
                     [](const BackwardContext& c) { return c.grad() * (1 - square(c.saved(0))); });
}

Tensor sigmoid(const Tensor& x) {
  return apply_unary(sigmoid_op, &UnaryKernels::sigmoid, x, [](const BackwardContext& c) {
    const Tensor s = c.saved(0);
    return c.grad() * (s * (1 - s));
  });
}

Tensor erf(const Tensor& x) {
  return apply_unary(erf_op, &UnaryKernels::erf, x, [](const BackwardContext& c) {
    return c.grad() * (2 * std::numbers::inv_sqrtpi * exp(-square(c.saved(0))));
  });
}

Tensor relu(const Tensor& x) {
  return apply_unary(relu_op, &UnaryKernels::relu, x, [](const BackwardContext& c) {
    const Tensor value = c.saved(0).detach();
    return masked_fill(c.grad(), le(value, 0), 0);
  });
}

Tensor gelu(const Tensor& x) {
  return apply_unary(gelu_op, &UnaryKernels::gelu, x, [](const BackwardContext& c) {
    const Tensor v = c.saved(0);
    const Tensor cumulative = 0.5 * (1 + erf(v * (1 / std::numbers::sqrt2)));
    const Tensor density = exp(-0.5 * square(v)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return c.grad() * (cumulative + v * density);
  });
}

Tensor gelu_tanh(const Tensor& x) {
  return apply_unary(gelu_tanh_op, &UnaryKernels::gelu_tanh, x, [](const BackwardContext& c) {
    constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, a = 0.044715;
    const Tensor v = c.saved(0);
    const Tensor t = tanh(k * (v + a * pow(v, 3)));
    const Tensor slope = k * (1 + 3 * a * square(v));
    return c.grad() * (0.5 * (1 + t) + 0.5 * v * (1 - square(t)) * slope);
  });
}

Tensor silu(const Tensor& x) {
  return apply_unary(silu_op, &UnaryKernels::silu, x, [](const BackwardContext& c) {
    const Tensor v = c.saved(0);
    const Tensor s = sigmoid(v);
    return c.grad() * (s * (1 + v * (1 - s)));
  });
}

Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high)) raise(ErrorKind::config, "clamp: the lower bound {} is above the upper bound {}", low, high);
  const Tensor values = x.detach();
  Tensor y = minimum(maximum(values, scalar(low, x.dtype())), scalar(high, x.dtype()));
  return record(clamp_op, {x}, y, {x},
                [low, high](const BackwardContext& c) -> Tensors {
                  const Tensor v = c.saved(0).detach();
                  return {c.grad() * cast(logical_and(ge(v, low), le(v, high)), v.dtype())};
                },
                {{"low", low}, {"high", high}});
}

}  // namespace tape
