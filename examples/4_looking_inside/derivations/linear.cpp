// Computes the values in docs/derivations/linear.md.
#include <fmt/format.h>

#include "page.h"

int main() {
  const Tensor x = leaf({{1, 2, -1}, {0.5, 0, 3}});
  const Tensor weight = leaf({{0.2, -0.4, 0.1}, {0.5, 0.3, -0.2}}), bias = leaf({0.1, -0.3});
  const Tensor dy = tensor({{1, -2}, {0.5, 0.25}}, f64);
  const Tensor y = linear(x, weight, bias);
  y.backward({.gradient = dy});

  const Matrix X(x), W(weight), b(bias), dY(dy);
  const int64_t N = 2, in = 3, out = 2;
  Matrix Y(N, out), dX(N, in), dW(out, in), db(1, out);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < out; ++o) {
      Y(n, o) = b(0, o);
      db(0, o) += dY(n, o);
      for (int64_t i = 0; i < in; ++i) {
        Y(n, o) += X(n, i) * W(o, i);
        dX(n, i) += dY(n, o) * W(o, i);
        dW(o, i) += dY(n, o) * X(n, i);
      }
    }

  Page page;
  page.block("forward");
  page.show("X", X);
  page.show("W", W);
  page.show("b", b);
  page.result("Y = X W^T + b", Y, y);
  page.block("backward");
  page.show("dY", dY);
  page.result("dX = dY W", dX, x.grad());
  page.result("dW = dY^T X", dW, weight.grad());
  page.result("db", db, bias.grad());
  page.block("one element");
  page.line(fmt::format("dW[0, 2] = {} * {} + {} * {} = {}", number(dY(0, 0)), number(X(0, 2)), number(dY(1, 0)),
                        number(X(1, 2)), number(dW(0, 2))));
  page.block("check");
  page.checked(gradcheck([](const Tensors& t) { return linear(t[0], t[1], t[2]); }, {x, weight, bias}));
  return page.status();
}
