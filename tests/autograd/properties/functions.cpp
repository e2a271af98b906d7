// Functions of one value, and of two or three that broadcast, in addition to those of elementwise.cpp: the C library's.

#include <cmath>

#include "autograd/ops/elementwise/activation.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/exponential.h"
#include "autograd/ops/elementwise/rounding.h"
#include "autograd/ops/elementwise/trigonometry.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

using Value = double (*)(double);

Array each(const Array& x, const std::function<double(double)>& f) {
  Array y = x;
  for (size_t i = 0; i < y.size(); ++i) y.data()[i] = f(x.data()[i]);
  return y;
}

/// f(x) against g for x in [low, high).
Case of_one(Draw& draw, double low, double high, Tensor (*f)(const Tensor&), Value g) {
  const DType dtype = draw.floating();
  const Tensor x = draw.values(draw.shape(), dtype, low, high);
  return {.inputs = {x},
          .call = [f](const Tensors& in) { return f(in[0]); },
          .expected = each(exact(x), g),
          .dtype = dtype};
}
/// The same for functions with kinks.
Case of_one_with_kinks(Draw& draw, const std::function<Tensor(const Tensor&)>& f,
                       const std::function<double(double)>& g) {
  const DType dtype = draw.floating();
  const Tensor x = draw.distinct(draw.shape(), dtype);
  return {.inputs = {x},
          .call = [f](const Tensors& in) { return f(in[0]); },
          .expected = each(exact(x), g),
          .dtype = dtype};
}

Case draw_expm1(Draw& draw) { return of_one(draw, -5, 5, expm1, std::expm1); }
Case draw_log1p(Draw& draw) { return of_one(draw, -0.9, 30, log1p, std::log1p); }
Case draw_exp2(Draw& draw) { return of_one(draw, -20, 5, exp2, std::exp2); }
Case draw_log2(Draw& draw) { return of_one(draw, 0.05, 30, log2, std::log2); }
Case draw_log10(Draw& draw) { return of_one(draw, 0.05, 30, log10, std::log10); }
Case draw_sinh(Draw& draw) { return of_one(draw, -5, 5, sinh, std::sinh); }
Case draw_cosh(Draw& draw) { return of_one(draw, -5, 5, cosh, std::cosh); }
Case draw_atanh(Draw& draw) { return of_one(draw, -0.9, 0.9, atanh, std::atanh); }
Case draw_tan(Draw& draw) { return of_one(draw, -1.4, 1.4, tan, std::tan); }
Case draw_asin(Draw& draw) { return of_one(draw, -0.9, 0.9, asin, std::asin); }
Case draw_acos(Draw& draw) { return of_one(draw, -0.9, 0.9, acos, std::acos); }
Case draw_atan(Draw& draw) { return of_one(draw, -9, 9, atan, std::atan); }
Case draw_mish(Draw& draw) {
  return of_one(draw, -9, 9, mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
}

Case draw_round(Draw& draw) {
  const auto decimals = static_cast<int64_t>(draw.one_of({-1.0, 0.0, 1.0}));
  const double ten = decimals == 0 ? 1 : 10;
  return of_one_with_kinks(
      draw, [decimals](const Tensor& x) { return round(x, decimals); },
      [=](double x) { return decimals < 0 ? std::nearbyint(x / ten) * ten : std::nearbyint(x * ten) / ten; });
}
Case draw_floor(Draw& draw) {
  return of_one_with_kinks(draw, floor, [](double x) { return std::floor(x); });
}
Case draw_ceil(Draw& draw) {
  return of_one_with_kinks(draw, ceil, [](double x) { return std::ceil(x); });
}
Case draw_trunc(Draw& draw) {
  return of_one_with_kinks(draw, trunc, [](double x) { return std::trunc(x); });
}
Case draw_frac(Draw& draw) {
  return of_one_with_kinks(draw, frac, [](double x) { return x - std::trunc(x); });
}
Case draw_leaky_relu(Draw& draw) {
  const double slope = draw.one_of({0.25, -0.5, 0.0});
  return of_one_with_kinks(
      draw, [slope](const Tensor& x) { return leaky_relu(x, slope); },
      [slope](double x) { return x > 0 ? x : slope * x; });
}
Case draw_elu(Draw& draw) {
  const double alpha = draw.one_of({1.0, 0.5, 2.0});
  return of_one_with_kinks(
      draw, [alpha](const Tensor& x) { return elu(x, alpha); },
      [alpha](double x) { return x > 0 ? x : alpha * std::expm1(x); });
}
Case draw_softplus(Draw& draw) {
  const double beta = draw.one_of({1.0, 0.5, 2.0});
  const DType dtype = draw.floating();
  const Tensor x = draw.values(draw.shape(), dtype, -9, 9);
  return {.inputs = {x},
          .call = [beta](const Tensors& in) { return softplus(in[0], {.beta = beta}); },
          .expected = each(exact(x), [beta](double v) { return std::log1p(std::exp(beta * v)) / beta; }),
          .dtype = dtype};
}

/// g(a, b) of operands that broadcast to `whole`.
Array pairs(const Shape& whole, const Tensor& a, const Tensor& b, double (*g)(double, double)) {
  const Array x = exact(a), y = exact(b);
  return build(whole, [&](const Index& index) {
    return g(at(x, broadcast_index(a.shape(), index)), at(y, broadcast_index(b.shape(), index)));
  });
}

Case draw_atan2(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape whole = draw.shape();
  const Tensor y = draw.values(whole, dtype, 0.1, 3), x = draw.values(draw.part_of(whole), dtype, -3, 3);
  return {.inputs = {y, x},
          .call = [](const Tensors& in) { return atan2(in[0], in[1]); },
          .expected = pairs(whole, y, x, std::atan2),
          .dtype = dtype};
}
Case draw_remainder(Draw& draw) {
  const DType dtype = draw.one_of({f32, f32, f64, i64});
  const Shape whole = draw.shape(), part = draw.part_of(whole);
  const Tensor a = dtype == i64 ? draw.whole(whole, dtype, -9, 9) : draw.distinct(whole, dtype);
  const Tensor b = dtype == i64 ? draw.whole(part, dtype, 1, 4) * draw.one_of({int64_t{1}, int64_t{-1}})
                                : draw.distinct(part, dtype, 1);
  return {.inputs = {a, b},
          .call = [](const Tensors& in) { return remainder(in[0], in[1]); },
          .expected = pairs(whole, a, b,
                            [](double x, double y) {
                              const double rest = std::fmod(x, y);
                              return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
                            }),
          .dtype = dtype};
}
Case draw_lerp(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape whole = draw.shape();
  const Tensor a = draw.values(whole, dtype), b = draw.values(draw.part_of(whole), dtype),
               w = draw.values(draw.part_of(whole), dtype, 0, 1);
  const Array x = exact(a), y = exact(b), weights = exact(w);
  Array magnitude = zeros_of(whole);
  const Array expected = build(whole, [&](const Index& index) {
    const double first = at(x, index), second = at(y, broadcast_index(b.shape(), index));
    magnitude.data()[flat(whole, index)] = std::abs(first) + std::abs(second);
    return first + at(weights, broadcast_index(w.shape(), index)) * (second - first);
  });
  return {.inputs = {a, b, w},
          .call = [](const Tensors& in) { return lerp(in[0], in[1], in[2]); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = magnitude};
}

}  // namespace

void add_functions(std::vector<Property>& all) {
  all.insert(all.end(), {{"expm1", "expm1", draw_expm1},
                         {"log1p", "log1p", draw_log1p},
                         {"exp2", "exp2", draw_exp2},
                         {"log2", "log2", draw_log2},
                         {"log10", "log10", draw_log10},
                         {"sinh", "sinh", draw_sinh},
                         {"cosh", "cosh", draw_cosh},
                         {"atanh", "atanh", draw_atanh},
                         {"tan", "tan", draw_tan},
                         {"asin", "asin", draw_asin},
                         {"acos", "acos", draw_acos},
                         {"atan", "atan", draw_atan},
                         {"mish", "mish", draw_mish},
                         {"round", "round", draw_round},
                         {"floor", "floor", draw_floor},
                         {"ceil", "ceil", draw_ceil},
                         {"trunc", "trunc", draw_trunc},
                         {"frac", "frac", draw_frac},
                         {"leaky_relu", "leaky_relu", draw_leaky_relu},
                         {"elu", "elu", draw_elu},
                         {"softplus", "softplus", draw_softplus},
                         {"atan2", "atan2", draw_atan2},
                         {"remainder", "remainder", draw_remainder},
                         {"lerp", "lerp", draw_lerp}});
}

}  // namespace tape::properties
