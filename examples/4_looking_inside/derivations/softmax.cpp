// Computes the values in docs/derivations/softmax.md.
#include "page.h"

/// Softmax of each row exactly as defined, e^(x_i) / sum of e^(x_j), without subtracting the maximum.
Matrix as_written(const Matrix& x) {
  Matrix y(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < x.cols; ++i) sum += std::exp(x(r, i));
    for (int64_t i = 0; i < x.cols; ++i) y(r, i) = std::exp(x(r, i)) / sum;
  }
  return y;
}

/// dy_i/dx_j = y_i (d_ij - y_j) of row r.
Matrix jacobian(const Matrix& y, int64_t r) {
  Matrix J(y.cols, y.cols);
  for (int64_t i = 0; i < y.cols; ++i)
    for (int64_t j = 0; j < y.cols; ++j) J(i, j) = y(r, i) * ((i == j ? 1 : 0) - y(r, j));
  return J;
}

int main() {
  Tensor x = leaf({{1, 2, 0}, {0.5, -1, 1}});
  const Tensor dy = tensor({{1, 0, -0.5}, {0.2, 2, 1}}, f64);
  const Tensor y = softmax(x, -1);
  y.backward({.gradient = dy});
  const Tensor from_softmax = x.grad();

  const Matrix X(x), dY(dy), Y = as_written(X);
  Matrix dot(2, 1), dX(2, 3), by_jacobian(2, 3);
  for (int64_t r = 0; r < 2; ++r) {
    const Matrix J = jacobian(Y, r);
    for (int64_t j = 0; j < 3; ++j) dot(r, 0) += dY(r, j) * Y(r, j);
    for (int64_t j = 0; j < 3; ++j) {
      dX(r, j) = Y(r, j) * (dY(r, j) - dot(r, 0));
      for (int64_t i = 0; i < 3; ++i) by_jacobian(r, j) += dY(r, i) * J(i, j);
    }
  }

  Page page;
  page.block("forward");
  page.show("X", X);
  page.result("Y", Y, y);
  page.block("jacobian");
  page.show("J of row 0", jacobian(Y, 0));
  page.block("backward");
  page.show("dY", dY);
  page.show("sum of dy y", dot);
  page.result("dX", dX, from_softmax);
  page.same("dX by the Jacobian", by_jacobian, from_softmax);

  x.zero_grad();
  const Tensor log_y = log_softmax(x, -1);
  log_y.backward({.gradient = dy});
  Matrix logarithm(2, 3), d_logarithm(2, 3);
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t j = 0; j < 3; ++j) {
      logarithm(r, j) = std::log(Y(r, j));
      d_logarithm(r, j) = dY(r, j) - Y(r, j) * (dY(r, 0) + dY(r, 1) + dY(r, 2));
    }
  page.block("logarithm");
  page.result("log Y", logarithm, log_y);
  page.result("dX", d_logarithm, x.grad());

  const Tensor large = tensor({{1001, 1002, 1000}}, f64), hidden = tensor({{1, -INFINITY, 1}}, f64);
  page.block("stability");
  page.show("x", large);
  page.show("as written", as_written(Matrix(large)));
  page.show("softmax(x)", softmax(large, -1));
  page.show("x", hidden);
  page.show("softmax(x)", softmax(hidden, -1));

  page.block("check");
  page.checked(gradcheck([](const Tensors& in) { return softmax(in[0], -1); }, {x}));
  page.checked(gradcheck([](const Tensors& in) { return log_softmax(in[0], -1); }, {x}));
  return page.status();
}
