// Computes the values in docs/derivations/embedding.md.
#include <fmt/format.h>

#include "page.h"

int main() {
  Tensor weight = leaf({{0, 0}, {0.1, 0.2}, {0.3, -0.4}, {-0.5, 0.6}});
  const Tensor ids = tensor({{2, 1, 2}, {3, 2, 0}}, i64);
  const Tensor dy = tensor({{{1, 2}, {0.5, -1}, {-3, 0}}, {{2, 2}, {0.25, 1}, {9, 9}}}, f64);
  const EmbeddingOptions options{.padding_index = 0};
  const Tensor y = embedding(weight, ids, options);
  y.backward({.gradient = dy});

  const Matrix W(weight), dY(dy);
  const std::vector<int64_t> id = ids.to_vector<int64_t>();
  Matrix Y(6, 2), dW(4, 2);
  for (int64_t n = 0; n < 6; ++n)
    for (int64_t c = 0; c < 2; ++c) {
      const int64_t v = id[static_cast<size_t>(n)];
      Y(n, c) = W(v, c);
      if (v != options.padding_index) dW(v, c) += dY(n, c);
    }

  Page page;
  page.block("forward");
  page.show("W", W);
  page.line(
      fmt::format("{:<16}{}", "ids", fmt::format("{} {} {}   {} {} {}", id[0], id[1], id[2], id[3], id[4], id[5])));
  page.result("Y", Y, y);
  page.block("backward");
  page.show("dY", dY);
  page.result("dW", dW, weight.grad());

  // The same as a product with one-hot rows. The padding row gets no gradient.
  weight.zero_grad();
  const Tensor E = reshape(one_hot(ids, 4, f64), {6, 4});
  const Tensor product = matmul(E, weight);
  page.same("Y as a product", Y, product);
  const Tensor counted = masked_fill(E, eq(arange(4), 0), 0);
  page.same("dW as a product", dW, matmul(counted, reshape(dy, {6, 2}), {.transpose_a = true}));

  page.block("check");
  page.checked(gradcheck([&](const Tensors& in) { return embedding(in[0], ids); }, {weight}));
  return page.status();
}
