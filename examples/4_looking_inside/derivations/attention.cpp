// Computes the values in docs/derivations/attention.md.
#include <tapeformer/nn/attention/attention.h>
#include <tapeformer/nn/gradcheck/gradcheck.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "page.h"

/// One head written as loops over its indices, forward and backward. `visible` is 1 where a query may attend.
struct Head {
  Matrix S, P, O, m, dV, dP, delta, dS, dQ, dK;

  Head(const Matrix& Q, const Matrix& K, const Matrix& V, const Matrix& visible, const Matrix& dO)
      : S(Q.rows, K.rows),
        P(S),
        O(Q.rows, V.cols),
        m(Q.rows, 1),
        dV(V.rows, V.cols),
        dP(S),
        delta(m),
        dS(S),
        dQ(Q.rows, Q.cols),
        dK(K.rows, K.cols) {
    const double scale = 1 / std::sqrt(static_cast<double>(Q.cols));
    for (int64_t i = 0; i < Q.rows; ++i) {
      double highest = -INFINITY, sum = 0;
      for (int64_t j = 0; j < K.rows; ++j) {
        for (int64_t d = 0; d < Q.cols; ++d) S(i, j) += scale * Q(i, d) * K(j, d);
        if (visible(i, j) == 0) S(i, j) = -INFINITY;
        highest = std::max(highest, S(i, j));
      }
      m(i, 0) = std::isfinite(highest) ? highest : 0;
      for (int64_t j = 0; j < K.rows; ++j) sum += std::exp(S(i, j) - m(i, 0));
      for (int64_t j = 0; j < K.rows; ++j) {
        P(i, j) = sum == 0 ? 0 : std::exp(S(i, j) - m(i, 0)) / sum;
        for (int64_t e = 0; e < V.cols; ++e) {
          O(i, e) += P(i, j) * V(j, e);
          dV(j, e) += P(i, j) * dO(i, e);
          dP(i, j) += dO(i, e) * V(j, e);
        }
        delta(i, 0) += P(i, j) * dP(i, j);
      }
      for (int64_t j = 0; j < K.rows; ++j) {
        dS(i, j) = P(i, j) * (dP(i, j) - delta(i, 0));
        for (int64_t d = 0; d < Q.cols; ++d) {
          dQ(i, d) += scale * dS(i, j) * K(j, d);
          dK(j, d) += scale * dS(i, j) * Q(i, d);
        }
      }
    }
  }
};

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.cols; ++j)
      for (int64_t k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(k, j);
  return c;
}

Matrix times_transposed(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.rows; ++j)
      for (int64_t k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(j, k);
  return c;
}

Matrix columns(const Matrix& x, int64_t first, int64_t count) {
  Matrix part(x.rows, count);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < count; ++j) part(i, j) = x(i, first + j);
  return part;
}

Matrix side_by_side(const Matrix& a, const Matrix& b) {
  Matrix both(a.rows, a.cols + b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < both.cols; ++j) both(i, j) = j < a.cols ? a(i, j) : b(i, j - a.cols);
  return both;
}

/// One head of width 2 with 2 queries and 3 keys. The first query may not attend to the last key.
void one_head(Page& page) {
  Tensor q = leaf({{1, 0}, {0.5, -1}}), k = leaf({{1, 1}, {0, 2}, {-1, 0.5}}), v = leaf({{1, 0}, {2, -1}, {0, 3}});
  const Tensor dout = tensor({{1, 0.5}, {-1, 2}}, f64);
  const AttentionOptions options{.mask = Mask::causal(1)};
  const AttentionResult result = scaled_dot_product_attention_with_weights(q, k, v, options);
  result.output.backward({.gradient = dout});

  const Head head(Matrix(q), Matrix(k), Matrix(v), Matrix(tensor({{1, 1, 0}, {1, 1, 1}}, f64)), Matrix(dout));
  page.block("forward");
  page.show("Q", q);
  page.show("K", k);
  page.show("V", v);
  page.show("S", head.S);
  page.show("m", head.m);
  page.result("P", head.P, result.weights);
  page.result("O", head.O, result.output);
  page.block("backward");
  page.show("dO", dout);
  page.show("dP", head.dP);
  page.show("delta", head.delta);
  page.show("dS", head.dS);
  page.result("dQ", head.dQ, q.grad());
  page.result("dK", head.dK, k.grad());
  page.result("dV", head.dV, v.grad());
  Matrix rows(2, 1);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t e = 0; e < 2; ++e) rows(i, 0) += Matrix(dout)(i, e) * head.O(i, e);
  page.same("delta as the sum of dO O", head.delta, rows);

  for (Tensor* operand : {&q, &k, &v}) operand->zero_grad();
  const Composed every_step_recorded;
  scaled_dot_product_attention(q, k, v, options).backward({.gradient = dout});
  page.same("dQ of the composed reference", head.dQ, q.grad());
  page.same("dK of the composed reference", head.dK, k.grad());
  page.same("dV of the composed reference", head.dV, v.grad());
}

/// A query whose keys are all masked.
void hidden_row(Page& page) {
  const Tensor q = leaf({{1, 0}, {0.5, -1}}), k = leaf({{1, 1}, {0, 2}}), v = leaf({{1, 0}, {2, -1}});
  const Tensor keep = tensor({{1, 1}, {0, 0}}, f64);
  const Tensor out = scaled_dot_product_attention(q, k, v, {.mask = Mask::keep(gt(keep, 0))});
  const Tensor dout = tensor({{1, 0.5}, {-1, 2}}, f64);
  out.backward({.gradient = dout});
  page.block("hidden row");
  page.show("O", out);
  page.show("dQ", q.grad());
}

/// Two heads of width 2 in inputs of width 4.
void two_heads(Page& page) {
  const Tensor q = leaf({{{1, 0, 0.5, 2}, {0.5, -1, 1, 0}}});
  const Tensor k = leaf({{{1, 1, 0, -1}, {0, 2, 1, 1}, {-1, 0.5, 2, 0}}});
  const Tensor v = leaf({{{1, 0, 3, 1}, {2, -1, 0, 0.5}, {0, 3, -2, 1}}}),
               dout = tensor({{{1, 0.5, -1, 0}, {-1, 2, 1, 3}}}, f64);
  const Tensor out = multi_head_attention(q, k, v, 2);
  out.backward({.gradient = dout});

  const auto head = [&](int64_t h) {
    const auto part = [h](const Tensor& x) { return columns(Matrix(x), 2 * h, 2); };
    return Head(part(q), part(k), part(v), Matrix(ones({2, 3}, f64)), part(dout));
  };
  const Head first = head(0), second = head(1);
  page.block("two heads");
  page.show("P of head 0", first.P);
  page.show("P of head 1", second.P);
  page.result("O", side_by_side(first.O, second.O), out);
  page.result("dQ", side_by_side(first.dQ, second.dQ), q.grad());
  page.same("dK", side_by_side(first.dK, second.dK), k.grad());
  page.same("dV", side_by_side(first.dV, second.dV), v.grad());
}

/// Self-attention: x is query, key and value, so its gradient is the sum of three. The biases are initially zero.
void layer(Page& page) {
  manual_seed(1);
  nn::MultiHeadAttention attention(4, 2);
  attention.to(f64);
  const Tensor x = randn({1, 3, 4}, f64).requires_grad_(true), dy = randn({1, 3, 4}, f64);
  attention(x).backward({.gradient = dy});

  const Matrix X(x), Wq(attention.query->weight), Wk(attention.key->weight), Wv(attention.value->weight);
  const Matrix Q = times_transposed(X, Wq), K = times_transposed(X, Wk), V = times_transposed(X, Wv);
  const Matrix dO = times(Matrix(dy), Matrix(attention.output->weight)), all_visible(ones({3, 3}, f64));
  Matrix dX(3, 4);
  for (int64_t h = 0; h < 2; ++h) {
    const auto part = [h](const Matrix& m) { return columns(m, 2 * h, 2); };
    const Head head(part(Q), part(K), part(V), all_visible, part(dO));
    for (const auto& [gradient, weight] : {std::pair(&head.dQ, &Wq), {&head.dK, &Wk}, {&head.dV, &Wv}})
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t c = 0; c < 4; ++c)
          for (int64_t d = 0; d < 2; ++d) dX(i, c) += (*gradient)(i, d) * (*weight)(2 * h + d, c);
  }
  page.block("layer");
  page.same("dX", dX, x.grad());
  page.result("dkey.bias", Matrix(1, 4), attention.key->bias.grad());
  page.checked(gradcheck(attention, {x}, {.allow_zero = {"key.bias"}}));
}

int main() {
  Page page;
  one_head(page);
  hidden_row(page);
  two_heads(page);
  layer(page);
  return page.status();
}
