// Computes the values in docs/derivations/layer_norm.md.
#include <fmt/format.h>

#include "page.h"

int main() {
  Tensor x = leaf({{1, 2, 6}, {-1, 0.5, 0}}), weight = leaf({1, 0.5, -2}), bias = leaf({0, 0.1, -0.1});
  const Tensor dy = tensor({{1, -1, 0.5}, {0.2, 0, -1}}, f64);
  const double eps = 1e-5, C = 3;
  const Tensor y = layer_norm(x, weight, bias, eps);
  y.backward({.gradient = dy});

  const Matrix X(x), w(weight), b(bias), dY(dy);
  Matrix mean(2, 1), variance(2, 1), r(2, 1), n(2, 3), Y(2, 3), g(2, 3), dX(2, 3), by_jacobian(2, 3), dw(1, 3),
      db(1, 3);
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t i = 0; i < 3; ++i) mean(row, 0) += X(row, i) / C;
    for (int64_t i = 0; i < 3; ++i) variance(row, 0) += std::pow(X(row, i) - mean(row, 0), 2) / C;
    r(row, 0) = 1 / std::sqrt(variance(row, 0) + eps);
    double mean_g = 0, mean_gn = 0;
    for (int64_t i = 0; i < 3; ++i) {
      n(row, i) = (X(row, i) - mean(row, 0)) * r(row, 0);
      Y(row, i) = n(row, i) * w(0, i) + b(0, i);
      dw(0, i) += dY(row, i) * n(row, i);
      db(0, i) += dY(row, i);
      g(row, i) = dY(row, i) * w(0, i);
      mean_g += g(row, i) / C;
      mean_gn += g(row, i) * n(row, i) / C;
    }
    for (int64_t j = 0; j < 3; ++j) {
      dX(row, j) = r(row, 0) * (g(row, j) - mean_g - n(row, j) * mean_gn);
      for (int64_t i = 0; i < 3; ++i)
        by_jacobian(row, j) += g(row, i) * r(row, 0) * ((i == j ? 1 : 0) - 1 / C - n(row, i) * n(row, j) / C);
    }
  }

  Page page;
  page.block("forward");
  page.show("X", X);
  page.show("weight", w);
  page.show("bias", b);
  page.show("mean", mean);
  page.show("variance", variance);
  page.show("r", r);
  page.show("N", n);
  page.result("Y", Y, y);
  page.block("backward");
  page.show("dY", dY);
  page.show("G", g);
  page.result("dX", dX, x.grad());
  page.same("dX by the Jacobian", by_jacobian, x.grad());
  page.result("dweight", dw, weight.grad());
  page.result("dbias", db, bias.grad());

  const Composed every_step_recorded;
  for (Tensor* leaf_of : {&x, &weight, &bias}) leaf_of->zero_grad();
  layer_norm(x, weight, bias, eps).backward({.gradient = dy});
  page.same("dX of the composed reference", dX, x.grad());
  page.same("dweight of the composed reference", dw, weight.grad());
  page.same("dbias of the composed reference", db, bias.grad());

  // Mean of squares minus square of the mean: both are 1e18, where adjacent doubles are 128 apart.
  double square = 0, sum = 0;
  for (const double v : {1e9, 1e9 + 1, 1e9 + 2}) square += v * v / 3, sum += v / 3;
  const Tensor far = layer_norm(tensor({{1e9, 1e9 + 1, 1e9 + 2}}, f64));
  page.block("two passes");
  page.show("layer_norm(x)", far);
  page.line(fmt::format("the one-pass variance of x is {}",
                        std::abs(square - sum * sum - 2.0 / 3) < 0.1 ? "right" : "wrong"));

  page.block("check");
  page.checked(gradcheck([](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); }, {x, weight, bias}));
  return page.status();
}
