// Elementwise functions of one value, and of two that broadcast: xtensor's functions of the same name.

#include <numbers>

#include <xtensor/xmath.hpp>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/transforms/checkpoint.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// f(x) for x in [low, high); errors are relative to |y|, or to `of(x)`.
template <auto f, class Oracle>
Case unary(Draw& draw, double low, double high, const Oracle& oracle) {
  const DType dtype = draw.floating();
  const Tensor x = draw.values(draw.shape(), dtype, low, high);
  return {.inputs = {x},
          .call = [](const Tensors& in) { return static_cast<Tensor (*)(const Tensor&)>(f)(in[0]); },
          .expected = oracle(exact(x)),
          .dtype = dtype};
}
template <auto f, class Oracle, class Of>
Case unary(Draw& draw, double low, double high, const Oracle& oracle, const Of& of) {
  Case drawn = unary<f>(draw, low, high, oracle);
  drawn.magnitude = of(exact(drawn.inputs[0]));
  return drawn;
}
/// The same away from 0, where f has a kink.
template <auto f, class Oracle>
Case with_kink(Draw& draw, const Oracle& oracle) {
  const DType dtype = draw.floating();
  const Tensor x = draw.distinct(draw.shape(), dtype);
  return {.inputs = {x},
          .call = [](const Tensors& in) { return static_cast<Tensor (*)(const Tensor&)>(f)(in[0]); },
          .expected = oracle(exact(x)),
          .dtype = dtype};
}

Case draw_abs(Draw& draw) {
  return with_kink<abs>(draw, [](const Array& x) -> Array { return xt::abs(x); });
}
Case draw_sign(Draw& draw) {
  return with_kink<sign>(draw, [](const Array& x) -> Array { return xt::sign(x); });
}
Case draw_relu(Draw& draw) {
  return with_kink<relu>(draw, [](const Array& x) -> Array { return xt::maximum(x, 0.0); });
}
Case draw_square(Draw& draw) {
  return unary<square>(draw, -9, 9, [](const Array& x) -> Array { return xt::square(x); });
}
Case draw_reciprocal(Draw& draw) {
  return unary<reciprocal>(draw, 0.01, 90, [](const Array& x) -> Array { return 1.0 / x; });
}
Case draw_exp(Draw& draw) {
  const double range = draw.one_of({3.0, 20.0});
  return unary<exp>(draw, -range, 3, [](const Array& x) -> Array { return xt::exp(x); });
}
Case draw_log(Draw& draw) {
  return unary<log>(draw, 0.05, 30, [](const Array& x) -> Array { return xt::log(x); });
}
Case draw_sqrt(Draw& draw) {
  return unary<sqrt>(draw, 0.05, 900, [](const Array& x) -> Array { return xt::sqrt(x); });
}
Case draw_rsqrt(Draw& draw) {
  return unary<rsqrt>(draw, 0.05, 900, [](const Array& x) -> Array { return 1.0 / xt::sqrt(x); });
}
// Near a zero of sine or cosine, errors are relative to 1.
Case draw_sin(Draw& draw) {
  return unary<sin>(
      draw, -30, 30, [](const Array& x) -> Array { return xt::sin(x); },
      [](const Array& x) -> Array { return xt::ones_like(x); });
}
Case draw_cos(Draw& draw) {
  return unary<cos>(
      draw, -30, 30, [](const Array& x) -> Array { return xt::cos(x); },
      [](const Array& x) -> Array { return xt::ones_like(x); });
}
Case draw_tanh(Draw& draw) {
  return unary<tanh>(draw, -5, 5, [](const Array& x) -> Array { return xt::tanh(x); });
}
Case draw_sigmoid(Draw& draw) {
  return unary<sigmoid>(draw, -20, 20, [](const Array& x) -> Array { return 1.0 / (1.0 + xt::exp(-x)); });
}
Case draw_erf(Draw& draw) {
  return unary<erf>(draw, -3, 3, [](const Array& x) -> Array { return xt::erf(x); });
}
// 1 + erf and 1 + tanh cancel for x far below 0: errors are relative to x.
Array size_of_x(const Array& x) { return xt::abs(x); }
Case draw_gelu(Draw& draw) {
  return unary<gelu>(
      draw, -5, 5, [](const Array& x) -> Array { return 0.5 * x * (1.0 + xt::erf(x / std::numbers::sqrt2)); },
      size_of_x);
}
Case draw_gelu_tanh(Draw& draw) {
  const double k = std::sqrt(2 / std::numbers::pi);
  return unary<gelu_tanh>(
      draw, -5, 5, [k](const Array& x) -> Array { return 0.5 * x * (1.0 + xt::tanh(k * (x + 0.044715 * x * x * x))); },
      size_of_x);
}
Case draw_silu(Draw& draw) {
  return unary<silu>(draw, -20, 20, [](const Array& x) -> Array { return x / (1.0 + xt::exp(-x)); });
}
Case draw_neg(Draw& draw) {
  const DType dtype = draw.one_of({f32, f64, i64});
  const Tensor x = draw.whole(draw.shape(), dtype, -9, 9);
  return {.inputs = {x},
          .call = [](const Tensors& in) { return -in[0]; },
          .expected = -exact(x),
          .dtype = dtype,
          .length = 0};
}
Case draw_clamp(Draw& draw) {
  const DType dtype = draw.floating();
  const double low = draw.one_of({-1.0, 0.0}), high = draw.one_of({0.5, 1.0});
  const Tensor x = draw.distinct(draw.shape(), dtype);
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return clamp(in[0], low, high); },
          .expected = xt::minimum(xt::maximum(exact(x), low), high),
          .dtype = dtype,
          .length = 0};
}
Case draw_affine(Draw& draw) {
  const DType dtype = draw.one_of({f32, f64, i64});
  const double scale = static_cast<double>(draw.between(-3, 3)), shift = static_cast<double>(draw.between(-5, 5));
  const Tensor x = dtype == i64 ? draw.whole(draw.shape(), dtype, -9, 9) : draw.values(draw.shape(), dtype);
  const Array values = exact(x);
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return affine(in[0], scale, shift); },
          .expected = values * scale + shift,
          .dtype = dtype,
          .magnitude = xt::abs(values * scale) + std::abs(shift)};
}
Case draw_pow_scalar(Draw& draw) {
  const DType dtype = draw.floating();
  const double exponent = draw.one_of({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0});
  const Tensor x = draw.values(draw.shape(), dtype, 0.2, 4);
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return pow(in[0], exponent); },
          .expected = xt::pow(exact(x), exponent),
          .dtype = dtype};
}
Case draw_cast(Draw& draw) {
  const DType from = draw.one_of({f32, f64, i64, boolean}), to = draw.one_of({f32, f64, i64, boolean});
  const Tensor x = from == boolean ? draw.whole(draw.shape(), from, 0, 1) : draw.whole(draw.shape(), from, -3, 3);
  const Array values = exact(x);
  Array expected = values;
  if (to == boolean) expected = xt::cast<double>(xt::not_equal(values, 0.0));
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return cast(in[0], to); },
          .expected = expected,
          .dtype = to,
          .length = 0};
}
/// Values and steps that are exact in f32.
Case draw_cast_there_and_back(Draw& draw) {
  const Tensor x = draw.whole(draw.shape(), draw.floating(), -16, 16);
  return {.inputs = {x},
          .call = [](const Tensors& in) { return cast(cast(in[0], f32), f64); },
          .expected = exact(x),
          .dtype = f64,
          .length = 0};
}

/// Two operands that broadcast, occasionally the same operand twice. `draw_operand(shape, dtype, lane)` draws each.
template <class F, class Oracle, class Of, class DrawOperand>
Case binary(Draw& draw, DType dtype, const F& f, const Oracle& oracle, const Of& of, const DrawOperand& draw_operand) {
  const Shape whole = draw.shape();
  const bool swapped = draw.chance(0.5);
  const Tensor first = draw_operand(swapped ? draw.part_of(whole) : whole, dtype, 0);
  if (draw.chance(0.15)) {
    const Array a = exact(first);
    return {.inputs = {first},
            .call = [f](const Tensors& in) { return f(in[0], in[0]); },
            .expected = oracle(a, a),
            .dtype = dtype,
            .magnitude = of(a, a)};
  }
  const Tensor second = draw_operand(swapped ? whole : draw.part_of(whole), dtype, 1);
  const Array a = exact(first), b = exact(second);
  return {.inputs = {first, second},
          .call = [f](const Tensors& in) { return f(in[0], in[1]); },
          .expected = oracle(a, b),
          .dtype = dtype,
          .magnitude = of(a, b)};
}

/// For f32 and f64 only, in [low, high).
template <class F, class Oracle>
Case floating_binary(Draw& draw, double low, double high, const F& f, const Oracle& oracle) {
  return binary(
      draw, draw.floating(), f, oracle, [=](const Array& a, const Array& b) -> Array { return xt::abs(oracle(a, b)); },
      [&](const Shape& shape, DType dtype, int) { return draw.values(shape, dtype, low, high); });
}
/// Also for i64.
template <class F, class Oracle, class Of>
Case any_binary(Draw& draw, const F& f, const Oracle& oracle, const Of& of) {
  return binary(draw, draw.one_of({f32, f32, f64, i64}), f, oracle, of, [&](const Shape& shape, DType dtype, int) {
    return dtype == i64 ? draw.whole(shape, dtype, -9, 9) : draw.values(shape, dtype);
  });
}

Array sum_of_abs(const Array& a, const Array& b) { return xt::abs(a) + xt::abs(b); }

Case draw_add(Draw& draw) {
  return any_binary(
      draw, [](auto& a, auto& b) { return a + b; }, [](const Array& a, const Array& b) -> Array { return a + b; },
      sum_of_abs);
}
Case draw_sub(Draw& draw) {
  return any_binary(
      draw, [](auto& a, auto& b) { return a - b; }, [](const Array& a, const Array& b) -> Array { return a - b; },
      sum_of_abs);
}
Case draw_mul(Draw& draw) {
  return any_binary(
      draw, [](auto& a, auto& b) { return a * b; }, [](const Array& a, const Array& b) -> Array { return a * b; },
      [](const Array& a, const Array& b) -> Array { return xt::abs(a * b); });
}
Case draw_div(Draw& draw) {
  return floating_binary(
      draw, 0.1, 9, [](auto& a, auto& b) { return a / b; },
      [](const Array& a, const Array& b) -> Array { return a / b; });
}
Case draw_pow(Draw& draw) {
  return floating_binary(
      draw, 0.2, 3, [](auto& a, auto& b) { return pow(a, b); },
      [](const Array& a, const Array& b) -> Array { return xt::pow(a, b); });
}
template <class F, class Oracle>
Case extreme(Draw& draw, const F& f, const Oracle& oracle) {
  return binary(
      draw, draw.one_of({f32, f32, f64, i64}), f, oracle,
      [=](const Array& a, const Array& b) -> Array { return xt::abs(oracle(a, b)); },
      [&](const Shape& shape, DType dtype, int lane) {
        return dtype == i64 ? draw.whole(shape, dtype, -9, 9) : draw.distinct(shape, dtype, lane);
      });
}
Case draw_maximum(Draw& draw) {
  return extreme(
      draw, [](auto& a, auto& b) { return maximum(a, b); },
      [](const Array& a, const Array& b) -> Array { return xt::maximum(a, b); });
}
Case draw_minimum(Draw& draw) {
  return extreme(
      draw, [](auto& a, auto& b) { return minimum(a, b); },
      [](const Array& a, const Array& b) -> Array { return xt::minimum(a, b); });
}
/// A chain of three operations on one input, inside a checkpoint of activations.
Case draw_checkpoint(Draw& draw) {
  const DType dtype = draw.floating();
  const Tensor x = draw.values(draw.shape(), dtype);
  const Array values = exact(x);
  return {.inputs = {x},
          .call =
              [](const Tensors& in) {
                const std::function<Tensor(const Tensors&)> body = [](const Tensors& i) { return i[0] * i[0] + i[0]; };
                return checkpoint(body, in);
              },
          .expected = values * values + values,
          .dtype = dtype,
          .magnitude = values * values + xt::abs(values)};
}

}  // namespace

void add_elementwise(std::vector<Property>& all) {
  all.insert(all.end(), {{"abs", "abs", draw_abs},
                         {"sign", "sign", draw_sign},
                         {"relu", "relu", draw_relu},
                         {"square", "square", draw_square},
                         {"reciprocal", "reciprocal", draw_reciprocal},
                         {"exp", "exp", draw_exp},
                         {"log", "log", draw_log},
                         {"sqrt", "sqrt", draw_sqrt},
                         {"rsqrt", "rsqrt", draw_rsqrt},
                         {"sin", "sin", draw_sin},
                         {"cos", "cos", draw_cos},
                         {"tanh", "tanh", draw_tanh},
                         {"sigmoid", "sigmoid", draw_sigmoid},
                         {"erf", "erf", draw_erf},
                         {"gelu", "gelu", draw_gelu},
                         {"gelu_tanh", "gelu_tanh", draw_gelu_tanh},
                         {"silu", "silu", draw_silu},
                         {"neg", "neg", draw_neg},
                         {"clamp", "clamp", draw_clamp},
                         {"affine", "affine", draw_affine},
                         {"pow_scalar", "pow_scalar", draw_pow_scalar},
                         {"cast_between_all", nullptr, draw_cast},
                         {"cast", "cast", draw_cast_there_and_back, 0x1p-6},
                         {"add", "add", draw_add},
                         {"sub", "sub", draw_sub},
                         {"mul", "mul", draw_mul},
                         {"div", "div", draw_div},
                         {"pow", "pow", draw_pow},
                         {"maximum", "maximum", draw_maximum},
                         {"minimum", "minimum", draw_minimum},
                         {"checkpoint", "checkpoint", draw_checkpoint}});
}

}  // namespace tape::properties
