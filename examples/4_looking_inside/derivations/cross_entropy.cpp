// Computes the values in docs/derivations/cross_entropy.md.
#include "page.h"

int main() {
  Tensor logits = leaf({{2, 0.5, -1}, {0, 1, 0.3}});
  const Tensor target = tensor({2, 1}, i64);
  const double s = 0.1, V = 3, N = 2;
  const Tensor loss = cross_entropy(logits, target, {.label_smoothing = s});
  loss.backward();

  const Matrix X(logits);
  Matrix lse(2, 1), Q(2, 3), P(2, 3), losses(2, 1), dX(2, 3);
  double mean = 0;
  for (int64_t r = 0; r < 2; ++r) {
    double sum = 0;
    for (int64_t v = 0; v < 3; ++v) sum += std::exp(X(r, v));
    lse(r, 0) = std::log(sum);
    for (int64_t v = 0; v < 3; ++v) {
      P(r, v) = std::exp(X(r, v) - lse(r, 0));
      Q(r, v) = (v == target[r].item<int64_t>() ? 1 - s : 0) + s / V;
      losses(r, 0) -= Q(r, v) * std::log(P(r, v));
      dX(r, v) = (P(r, v) - Q(r, v)) / N;
    }
    mean += losses(r, 0) / N;
  }

  Page page;
  page.block("forward");
  page.show("X", X);
  page.show("lse", lse);
  page.show("P", P);
  page.show("Q", Q);
  page.result("losses", losses, cross_entropy(logits, target, {.label_smoothing = s, .reduction = Reduction::none}));
  page.show("loss", mean);
  page.same("loss", Matrix(full({1}, mean, f64)), reshape(loss, {1}));
  page.block("backward");
  page.result("dX", dX, logits.grad());

  // The same through log_softmax, whose gradient softmax.md derives.
  logits.zero_grad();
  sum(log_softmax(logits, -1) * from_vector(Q.values, {2, 3}) * (-1 / N)).backward();
  page.same("dX through log_softmax", dX, logits.grad());

  // Row 1 is ignored, and the classes have different weights.
  logits.zero_grad();
  const Tensor some = tensor({2, 9}, i64), weight = tensor({1, 0.5, 2}, f64);
  const CrossEntropyOptions options{.ignore_index = 9, .label_smoothing = s, .weight = weight};
  cross_entropy(logits, some, options).backward();
  const Matrix w(weight);
  Matrix q(1, 3), weighted(2, 3);
  double total = 0;
  for (int64_t v = 0; v < 3; ++v) total += q(0, v) = w(0, v) * ((v == 2 ? 1 - s : 0) + s / V);
  for (int64_t v = 0; v < 3; ++v) weighted(0, v) = (total * P(0, v) - q(0, v)) / w(0, 2);
  page.block("weights");
  page.show("w", w);
  page.show("q of row 0", q);
  page.show("its sum", total);
  page.result("dX", weighted, logits.grad());

  page.block("check");
  page.checked(
      gradcheck([&](const Tensors& in) { return cross_entropy(in[0], target, {.label_smoothing = s}); }, {logits}));
  page.checked(gradcheck([&](const Tensors& in) { return cross_entropy(in[0], some, options); }, {logits}));
  return page.status();
}
