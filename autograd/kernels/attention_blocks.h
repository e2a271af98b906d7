#pragma once

// Attention by blocks of queries, forward and backward. How its products are computed is a parameter: f32's and f64's
// own (attention.cpp), or tiles (tile_attention.h).

#include "attention_rows.h"

namespace tape::kernels::TAPE_LEVEL {

// `Products(shape, block, k, v)` computes for one head, whose keys and values begin at k and v; rows of A are `a_row`
// apart, those of C `c_row`, and a block has at most `block` queries:
//   queries_per_block(shape): at most 64
//   prepare_forward(), prepare_backward(): before the first product
//   times_keys(count, width, a, a_row, c, c_row): C [count, width] = A K^T, A [count, D]; zeros beyond Tk
//   times_values(...): the same with V^T, A [count, Dv]
//   sum_values(count, keys, a, a_row, c, c_row): C [count, Dv] = A V of the first `keys` values, A [count, keys]
//   sum_keys(...): the same with K, C [count, D]
//   add_transposed(keys, width, count, a, a_row, b, b_row, c, c_row): C [keys, width] += A^T B, A [count, keys], B
//     [count, width]

/// Multiplications below which threads are not worth waking.
inline constexpr double kParallelWork = 3e5;

TAPE_INLINE bool worth_threads(const AttentionShape& s) {
  const double scores = static_cast<double>(s.B * s.H) * static_cast<double>(s.Tq) * static_cast<double>(s.Tk);
  return scores * static_cast<double>(s.D + s.Dv) > kParallelWork;
}

/// Queries [i, i + count) of one head.
template <class Products, class T>
static void forward_block(const Head<T>& head, int64_t i, int64_t count, const AttentionOperands<T>& in,
                          Products& products, Dropout<T>& dropout, T* scores, const AttentionResults<T>& to) {
  const AttentionShape& s = head.shape;
  const int64_t keys = head.visible(i + count - 1), width = padded<T>(keys), row = padded<T>(s.Tk);
  products.times_keys(count, width, in.q + head.at(s.q) + i * s.q.row, s.q.row, scores, row);
  dropout.draw(head, i, count);
  // Rows are normalized behind the product with the values, where they are shorter.
  T sums[64], max[64], inverse[64];
  for (int64_t r = 0; r < count; ++r) {
    T* p = scores + r * row;
    mask_row(head, i + r, in, width, p);
    max[r] = finite_or_zero(row_max(width, p));
    sums[r] = static_cast<T>(row_sum(width, p, T(0), [&](Vec<T> x, int64_t j) {
      const Vec<T> e = exp_of_negative(x - max[r]);
      store(p + j, e);
      return e;
    }));
    inverse[r] = sums[r] == 0 ? T(0) : T(1) / sums[r];
    if (to.probabilities) write_row(s.Tk, width, inverse[r], p, to.probabilities + head.row(i + r));
    if (dropout.active()) dropout.apply(r, width, p);
  }
  map_vectors(count, sums, sums, [](Vec<T> x) { return log(x); });  // -inf where everything is hidden
  for (int64_t r = 0; r < count; ++r) to.lse[head.lse_at(i + r)] = max[r] + sums[r];
  T* const out = to.out + head.at(s.out) + i * s.out.row;
  products.sum_values(count, keys, scores, row, out, s.out.row);
  for (int64_t r = 0; r < count; ++r)
    map_vectors(s.Dv, out + r * s.out.row, out + r * s.out.row, [&](Vec<T> x) { return x * inverse[r]; });
}

template <class Products, class T>
static void forward(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionResults<T>& to) {
  const int64_t block = Products::queries_per_block(s), blocks = divide_up(s.Tq, block), heads = s.B * s.H;
  if (heads == 0 || blocks == 0) return;
  // Few heads are split into parts of their blocks; rows have the same bits however they are split.
  const int64_t threads = num_threads();
  const int64_t parts = heads >= 2 * threads ? 1 : smaller(blocks, divide_up(2 * threads, heads));
  for_tasks(heads * parts, worth_threads(s), [&](int64_t task) {
    const Head<T> head{s, task / parts / s.H, task / parts % s.H};
    const int64_t part = task % parts, begin = blocks * part / parts * block;
    const int64_t end = smaller(s.Tq, blocks * (part + 1) / parts * block), row = padded<T>(s.Tk);
    if (begin >= end) return;
    Scratch<T> scores(block * row);
    Products products(s, block, in.k + head.at(s.k), in.v + head.at(s.v));
    Dropout<T> dropout(s, block);
    products.prepare_forward();
    for (int64_t i = begin; i < end; i += block)
      forward_block(head, i, smaller(block, end - i), in, products, dropout, scores.data(), to);
  });
}

/// One row: probabilities p from its scores, and the gradient of what was scaled from dp, the gradient of what dropout
/// let through: ds = scale p (dp - delta), delta = sum of p dp. (The product of dout and out is delta too, but rounded
/// otherwise, so that ds would not sum to zero.)
template <class T>
TAPE_INLINE void score_gradient(int64_t width, T lse, T scale, T* p, T* dp) {
  constexpr int kStep = kLanes<T>;
  if (lse == static_cast<T>(-kInfinity)) {  // fully hidden
    for (int64_t j = 0; j < width; j += kStep) {
      store(p + j, Vec<T>{});
      store(dp + j, Vec<T>{});
    }
    return;
  }
  const T delta = static_cast<T>(row_sum(width, p, T(0), [&](Vec<T> x, int64_t j) {
    const Vec<T> probability = exp_of_negative(x - lse);
    store(p + j, probability);
    return probability * load(dp + j);
  }));
  for (int64_t j = 0; j < width; j += kStep) store(dp + j, load(p + j) * (load(dp + j) - delta) * scale);
}

template <class Products, class T>
static void backward_block(const Head<T>& head, int64_t i, int64_t count, const AttentionOperands<T>& in,
                           const AttentionGradients<T>& g, Products& products, Dropout<T>& dropout, T* p, T* dp) {
  const AttentionShape& s = head.shape;
  const int64_t keys = head.visible(i + count - 1), width = padded<T>(keys), row = padded<T>(s.Tk);
  const T *q = in.q + head.at(s.q) + i * s.q.row, *dout = g.dout + head.at(s.out) + i * s.out.row;
  products.times_keys(count, width, q, s.q.row, p, row);
  products.times_values(count, width, dout, s.out.row, dp, row);
  dropout.draw(head, i, count);
  const T scale = static_cast<T>(s.scale);
  for (int64_t r = 0; r < count; ++r) {
    T *pr = p + r * row, *dpr = dp + r * row;
    mask_row(head, i + r, in, width, pr);
    if (dropout.active()) dropout.apply(r, width, dpr);
    if (g.dprobabilities) {
      const T* more = g.dprobabilities + head.row(i + r);
      for (int64_t j = 0; j < keys; ++j) dpr[j] += more[j];
    }
    score_gradient(width, g.lse[head.lse_at(i + r)], g.dadditive ? T(1) : scale, pr, dpr);
    if (g.dadditive) {
      write_row(s.Tk, width, T(1), dpr, g.dadditive + head.row(i + r));
      for (int64_t j = 0; j < width; j += kLanes<T>) store(dpr + j, load(dpr + j) * scale);
    }
    if (dropout.active()) dropout.apply(r, width, pr);
  }
  products.sum_keys(count, keys, dp, row, g.dq + head.at(s.q) + i * s.q.row, s.q.row);
  products.add_transposed(keys, s.D, count, dp, row, q, s.q.row, g.dk + head.at(s.k), s.k.row);
  products.add_transposed(keys, s.Dv, count, p, row, dout, s.out.row, g.dv + head.at(s.v), s.v.row);
}

template <class T>
TAPE_INLINE void clear_rows(int64_t rows, int64_t cols, int64_t stride, T* x) {
  for (int64_t r = 0; r < rows; ++r) __builtin_memset(x + r * stride, 0, static_cast<uint64_t>(cols) * sizeof(T));
}

template <class Products, class T>
static void backward(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionGradients<T>& g) {
  const int64_t block = Products::queries_per_block(s), row = padded<T>(s.Tk);
  // dk and dv of a head are summed over its blocks of queries in order, by one thread.
  for_tasks(s.B * s.H, worth_threads(s), [&](int64_t task) {
    const Head<T> head{s, task / s.H, task % s.H};
    clear_rows(s.Tk, s.D, s.k.row, g.dk + head.at(s.k));
    clear_rows(s.Tk, s.Dv, s.v.row, g.dv + head.at(s.v));
    Scratch<T> p(block * row), dp(block * row);
    Products products(s, block, in.k + head.at(s.k), in.v + head.at(s.v));
    Dropout<T> dropout(s, block);
    products.prepare_backward();
    for (int64_t i = 0; i < s.Tq; i += block)
      backward_block(head, i, smaller(block, s.Tq - i), in, g, products, dropout, p.data(), dp.data());
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
