#include "autograd/ops/unary.h"

#include <numbers>

#include "autograd/create.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/op.h"

namespace tape {
namespace {

using kernels::Unary;

Tensor forward(const Op& op, Unary kind, const Tensor& x) {
  Tensor y = empty_like(x);
  dispatch_floating(op.name(), x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::elementwise<T>().unary(kind, x.numel(), x.data<T>(), y.mutable_data<T>());
  });
  return y;
}

/// dy * op'(x) in one pass, from the saved x or y as the kernel wants it, and over it where nobody needs it any more.
Tensor fused_gradient(Unary kind, const BackwardContext& c) {
  Tensor dx = c.room_of_saved(0);
  const Tensor x_or_y = c.saved(0), dy = c.grad();
  dispatch_floating("backward", dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* value = x_or_y.data<T>();
    kernels::elementwise<T>().unary_backward(kind, dy.numel(), value, value, dy.data<T>(), dx.mutable_data<T>());
  });
  return dx;
}

using Function = Tensor (*)(const Tensor&);

std::function<std::vector<OpSample>()> samples(Function f, double low, double high) {
  return [=] {
    auto call = [f](const Tensors& in) { return f(in[0]); };
    return std::vector<OpSample>{{"matrix", {sample_uniform({3, 4}, low, high)}, call},
                                 {"rank 0", {sample_uniform({}, low, high, 7)}, call},
                                 {"rank 4", {sample_uniform({2, 1, 3, 2}, low, high, 3)}, call},
                                 {"empty", {sample_uniform({2, 0}, low, high)}, call}};
  };
}

/// Away from zero, where the gradient has a kink.
std::function<std::vector<OpSample>()> kink_samples(Function f) {
  return [=] {
    auto call = [f](const Tensors& in) { return f(in[0]); };
    return std::vector<OpSample>{{"matrix", {sample_distinct({3, 4})}, call}, {"rank 0", {sample_distinct({})}, call}};
  };
}

const Op neg_op("neg", samples(neg, -2, 2));
const Op abs_op("abs", kink_samples(abs));
const Op sign_op("sign", [] {
  return std::vector<OpSample>{
      {"beside x", {sample_distinct({3})}, [](const Tensors& in) { return in[0] * sign(in[0]); }}};
});
const Op square_op("square", samples(square, -2, 2));
const Op reciprocal_op("reciprocal", samples(reciprocal, 0.5, 2));
const Op exp_op("exp", samples(exp, -2, 2));
const Op log_op("log", samples(log, 0.5, 2));
const Op sqrt_op("sqrt", samples(sqrt, 0.5, 2));
const Op rsqrt_op("rsqrt", samples(rsqrt, 0.5, 2));
const Op sin_op("sin", samples(sin, -3, 3));
const Op cos_op("cos", samples(cos, -3, 3));
const Op tanh_op("tanh", samples(tanh, -2, 2));
const Op sigmoid_op("sigmoid", samples(sigmoid, -3, 3));
const Op erf_op("erf", samples(erf, -2, 2));
const Op relu_op("relu", kink_samples(relu));
const Op gelu_op("gelu", samples(gelu, -3, 3));
const Op gelu_tanh_op("gelu_tanh", samples(gelu_tanh, -3, 3));
const Op silu_op("silu", samples(silu, -3, 3));
const Op clamp_op("clamp", [] {
  return std::vector<OpSample>{
      {"both sides", {sample_distinct({3, 4})}, [](const Tensors& in) { return clamp(in[0], -0.5, 0.7); }}};
});

}  // namespace

Tensor operator-(const Tensor& x) { return neg(x); }

/// y = -x; dx = -dy.
Tensor neg(const Tensor& x) {
  if (x.dtype() == i64) return affine(x, -1, 0);
  return record(neg_op, {x}, forward(neg_op, Unary::neg, x), {},
                [](const BackwardContext& c) -> Tensors { return {-c.grad()}; });
}

/// y = |x|; dx = dy sign(x).
Tensor abs(const Tensor& x) {
  return record(abs_op, {x}, forward(abs_op, Unary::abs, x), {x},
                [](const BackwardContext& c) -> Tensors { return {c.grad() * sign(c.saved(0).detach())}; });
}

/// y = sign(x) is constant wherever it is smooth; dx = 0.
Tensor sign(const Tensor& x) {
  return record(sign_op, {x}, forward(sign_op, Unary::sign, x), {},
                [](const BackwardContext& c) -> Tensors { return {zeros_like(c.grad())}; });
}

/// y = x^2; dx = 2 x dy.
Tensor square(const Tensor& x) {
  return record(square_op, {x}, forward(square_op, Unary::square, x), {x},
                [](const BackwardContext& c) -> Tensors { return {c.grad() * (2 * c.saved(0))}; });
}

/// y = 1 / x; dx = -dy y^2.
Tensor reciprocal(const Tensor& x) {
  Tensor y = forward(reciprocal_op, Unary::reciprocal, x);
  return record(reciprocal_op, {x}, y, {y},
                [](const BackwardContext& c) -> Tensors { return {-(c.grad() * square(c.saved(0)))}; });
}

/// y = e^x; dx = dy y.
Tensor exp(const Tensor& x) {
  Tensor y = forward(exp_op, Unary::exp, x);
  return record(exp_op, {x}, y, {y}, [](const BackwardContext& c) -> Tensors { return {c.grad() * c.saved(0)}; });
}

/// y = log x; dx = dy / x.
Tensor log(const Tensor& x) {
  return record(log_op, {x}, forward(log_op, Unary::log, x), {x},
                [](const BackwardContext& c) -> Tensors { return {c.grad() / c.saved(0)}; });
}

/// y = sqrt x; dx = dy / (2 y).
Tensor sqrt(const Tensor& x) {
  Tensor y = forward(sqrt_op, Unary::sqrt, x);
  return record(sqrt_op, {x}, y, {y},
                [](const BackwardContext& c) -> Tensors { return {c.grad() / (2 * c.saved(0))}; });
}

/// y = x^(-1/2); dx = -dy y^3 / 2.
Tensor rsqrt(const Tensor& x) {
  Tensor y = forward(rsqrt_op, Unary::rsqrt, x);
  return record(rsqrt_op, {x}, y, {y},
                [](const BackwardContext& c) -> Tensors { return {c.grad() * (-0.5 * pow(c.saved(0), 3))}; });
}

/// y = sin x; dx = dy cos x.
Tensor sin(const Tensor& x) {
  return record(sin_op, {x}, forward(sin_op, Unary::sin, x), {x},
                [](const BackwardContext& c) -> Tensors { return {c.grad() * cos(c.saved(0))}; });
}

/// y = cos x; dx = -dy sin x.
Tensor cos(const Tensor& x) {
  return record(cos_op, {x}, forward(cos_op, Unary::cos, x), {x},
                [](const BackwardContext& c) -> Tensors { return {-(c.grad() * sin(c.saved(0)))}; });
}

/// y = tanh x; dx = dy (1 - y^2).
Tensor tanh(const Tensor& x) {
  Tensor y = forward(tanh_op, Unary::tanh, x);
  return record(tanh_op, {x}, y, {y}, [](const BackwardContext& c) -> Tensors {
    if (!c.create_graph()) return {fused_gradient(Unary::tanh, c)};
    return {c.grad() * (1 - square(c.saved(0)))};
  });
}

/// y = 1 / (1 + e^-x); dx = dy y (1 - y).
Tensor sigmoid(const Tensor& x) {
  Tensor y = forward(sigmoid_op, Unary::sigmoid, x);
  return record(sigmoid_op, {x}, y, {y}, [](const BackwardContext& c) -> Tensors {
    if (!c.create_graph()) return {fused_gradient(Unary::sigmoid, c)};
    const Tensor s = c.saved(0);
    return {c.grad() * (s * (1 - s))};
  });
}

/// y = erf x = 2/sqrt(pi) * integral of e^(-t^2) from 0 to x; dx = dy 2/sqrt(pi) e^(-x^2).
Tensor erf(const Tensor& x) {
  return record(erf_op, {x}, forward(erf_op, Unary::erf, x), {x}, [](const BackwardContext& c) -> Tensors {
    return {c.grad() * (2 * std::numbers::inv_sqrtpi * exp(-square(c.saved(0))))};
  });
}

/// y = max(x, 0); dx = dy where x > 0.
Tensor relu(const Tensor& x) {
  Tensor y = forward(relu_op, Unary::relu, x);
  return record(relu_op, {x}, y, {y}, [](const BackwardContext& c) -> Tensors {
    if (!c.create_graph()) return {fused_gradient(Unary::relu, c)};
    const Tensor value = c.saved(0).detach();
    return {c.grad() * cast(gt(value, 0), value.dtype())};
  });
}

/// y = x P(x), P(x) = (1 + erf(x / sqrt 2)) / 2, p(x) = e^(-x^2/2) / sqrt(2 pi); dx = dy (P(x) + x p(x)).
Tensor gelu(const Tensor& x) {
  return record(gelu_op, {x}, forward(gelu_op, Unary::gelu, x), {x}, [](const BackwardContext& c) -> Tensors {
    if (!c.create_graph()) return {fused_gradient(Unary::gelu, c)};
    const Tensor v = c.saved(0);
    const Tensor cumulative = 0.5 * (1 + erf(v * (1 / std::numbers::sqrt2)));
    const Tensor density = exp(-0.5 * square(v)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return {c.grad() * (cumulative + v * density)};
  });
}

/// y = x/2 (1 + t), t = tanh u, u = k (x + a x^3), k = sqrt(2/pi), a = 0.044715;
/// dx = dy ((1 + t) / 2 + x/2 (1 - t^2) k (1 + 3 a x^2)).
Tensor gelu_tanh(const Tensor& x) {
  return record(gelu_tanh_op, {x}, forward(gelu_tanh_op, Unary::gelu_tanh, x), {x},
                [](const BackwardContext& c) -> Tensors {
                  if (!c.create_graph()) return {fused_gradient(Unary::gelu_tanh, c)};
                  constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, a = 0.044715;
                  const Tensor v = c.saved(0);
                  const Tensor t = tanh(k * (v + a * pow(v, 3)));
                  const Tensor slope = k * (1 + 3 * a * square(v));
                  return {c.grad() * (0.5 * (1 + t) + 0.5 * v * (1 - square(t)) * slope)};
                });
}

/// y = x s, s = sigmoid(x); dx = dy s (1 + x (1 - s)).
Tensor silu(const Tensor& x) {
  return record(silu_op, {x}, forward(silu_op, Unary::silu, x), {x}, [](const BackwardContext& c) -> Tensors {
    if (!c.create_graph()) return {fused_gradient(Unary::silu, c)};
    const Tensor v = c.saved(0);
    const Tensor s = sigmoid(v);
    return {c.grad() * (s * (1 + v * (1 - s)))};
  });
}

/// y = min(max(x, low), high); dx = dy where low <= x <= high.
Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high)) raise(ErrorKind::config, "clamp: the lower bound {} is above the upper bound {}", low, high);
  const Tensor values = x.detach();
  Tensor y = minimum(maximum(values, scalar(low, x.dtype())), scalar(high, x.dtype()));
  return record(clamp_op, {x}, y, {x}, [low, high](const BackwardContext& c) -> Tensors {
    const Tensor v = c.saved(0).detach();
    return {c.grad() * cast(logical_and(ge(v, low), le(v, high)), v.dtype())};
  });
}

}  // namespace tape
