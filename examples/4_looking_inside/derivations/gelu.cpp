// Computes the values in docs/derivations/gelu.md.
#include "page.h"

#include <algorithm>
#include <numbers>

#include <fmt/format.h>

struct ValueAndSlope {
  double value, slope;
};

/// x Phi(x), and its derivative Phi(x) + x phi(x).
ValueAndSlope exact(double x) {
  const double cumulative = (1 + std::erf(x / std::numbers::sqrt2)) / 2;
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return {x * cumulative, cumulative + x * density};
}

/// x/2 (1 + t), and its derivative, with t = tanh u.
ValueAndSlope by_tanh(double x) {
  const double k = std::sqrt(2 / std::numbers::pi), a = 0.044715;
  const double t = std::tanh(k * (x + a * x * x * x)), du = k * (1 + 3 * a * x * x);
  return {x / 2 * (1 + t), (1 + t) / 2 + x / 2 * (1 - t * t) * du};
}

/// Prints one form at every element of x and compares it with the library.
void compare(Page& page, std::string_view name, ValueAndSlope (*form)(double), Tensor (*library)(const Tensor&),
             Tensor x, const Tensor& dy) {
  x.zero_grad();
  const Tensor y = library(x);
  y.backward({.gradient = dy});
  Matrix value(2, 3), slope(2, 3), dx(2, 3);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      const ValueAndSlope f = form(Matrix(x)(i, j));
      value(i, j) = f.value, slope(i, j) = f.slope, dx(i, j) = Matrix(dy)(i, j) * f.slope;
    }
  page.block(name);
  page.result("y", value, y);
  page.show("dy/dx", slope);
  page.result("dx", dx, x.grad());
}

int main() {
  const Tensor x = leaf({{-3, -1, -0.5}, {0, 1, 2}}), dy = tensor({{1, 2, -1}, {0.5, 1, -2}}, f64);
  Page page;
  page.block("input");
  page.show("x", x);
  page.show("dy", dy);
  compare(page, "exact", exact, gelu, x, dy);
  compare(page, "tanh", by_tanh, gelu_tanh, x, dy);

  double apart = 0, slopes_apart = 0, lowest = 0, at = 0;
  for (int64_t i = -6000; i <= 6000; ++i) {
    const double v = static_cast<double>(i) / 1000;
    const ValueAndSlope f = exact(v), g = by_tanh(v);
    apart = std::max(apart, std::abs(f.value - g.value));
    slopes_apart = std::max(slopes_apart, std::abs(f.slope - g.slope));
    if (f.value < lowest) lowest = f.value, at = v;
  }
  page.block("between");
  page.line(
      fmt::format("the forms differ by at most {}, their derivatives by {}", number(apart), number(slopes_apart)));
  page.line(fmt::format("minimum of the exact form: {} at {:.3f}", number(lowest), at));

  const Tensor far = tensor({-9}, f64);
  page.block("tail");
  page.line(fmt::format("-9 (1 + erf(-9 / sqrt 2)) / 2   {:.3e}", exact(-9).value));
  page.line(fmt::format("-9 erfc(9 / sqrt 2) / 2        {:.3e}", -9 * std::erfc(9 / std::numbers::sqrt2) / 2));
  page.line(fmt::format("gelu(-9)                       {:.3e}", gelu(far).item()));

  page.block("check");
  page.checked(gradcheck([](const Tensors& in) { return gelu(in[0]); }, {x}));
  page.checked(gradcheck([](const Tensors& in) { return gelu_tanh(in[0]); }, {x}));
  return page.status();
}
