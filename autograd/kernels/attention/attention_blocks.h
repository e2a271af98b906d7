#pragma once

// Attention in blocks of queries, forward and backward. The implementation of its products is a template parameter: f32
// and f64 (attention.cpp) or AMX tiles (tile_attention.h).

#include "attention_rows.h"

namespace tape::kernels::TAPE_LEVEL {

// `Products(shape, block, keys, k, v)` computes the products for one head of keys and values, using the first `keys`
// rows of k and v. Rows of A are `a_row` apart, those of C `c_row`; a block has at most `block` queries:
//   queries_per_block(shape): at most 64
//   kAlign: products begin at a multiple of this many keys, and write whole multiples into rows of C that have them
//   prepare_forward(), prepare_backward(): called before the first product
//   times_keys(begin, count, width, a, a_row, c, c_row): C [count, width] = A K^T of the keys from `begin` on,
//     A [count, D]; zeros beyond the last key
//   times_values(...): the same with V^T, A [count, Dv]
//   sum_values(begin, count, keys, a, a_row, c, c_row): C [count, Dv] = A V of the next `keys` values, A [count, keys]
//   sum_keys(...): the same with K, C [count, D]
//   add_transposed(keys, width, count, a, a_row, b, b_row, c, c_row): C [keys, width] += A^T B, A [count, keys],
//     B [count, width]

/// Number of multiplications below which waking threads does not pay off.
inline constexpr double kParallelWork = 3e5;

TAPE_INLINE bool worth_threads(const AttentionShape& s, int64_t keys) {
  const double scores = static_cast<double>(s.B * s.H) * static_cast<double>(s.Tq) * static_cast<double>(keys);
  return scores * static_cast<double>(s.D + s.Dv) > kParallelWork;
}

/// Row stride of the scores of at most `keys` keys: kAlign is a multiple of the vector length.
template <class Products>
TAPE_INLINE int64_t score_stride(int64_t keys) {
  return ceil_div(keys, Products::kAlign) * Products::kAlign;
}

/// State shared by some blocks of queries of one head.
template <class Products, class T>
struct Blocks {
  int64_t first;  // index of the first key in `products`
  Products& products;
  Dropout<T>& dropout;
  int64_t row;  // row stride of the scores
};

/// Replaces a row of scores by exp(score - maximum) and returns 1 / sum, or 0 if the whole row is hidden.
template <class T>
TAPE_INLINE T exponentials(int64_t width, T highest, T* p) {
  const T sum = static_cast<T>(row_sum(width, p, T(0), [&](Vec<T> x, int64_t j) {
    const Vec<T> e = exp_of_negative(x - highest);
    store(p + j, e);
    return e;
  }));
  return sum == 0 ? T(0) : T(1) / sum;
}

/// Forward pass of queries [i, i + count) of one head.
template <class Products, class T>
static void forward_block(const Head<T>& head, int64_t i, int64_t count, const AttentionOperands<T>& in,
                          const Blocks<Products, T>& blocks, T* scores, const AttentionResults<T>& to) {
  const AttentionShape& s = head.shape;
  const KeyRange keys = visible_keys(head, i, count, in.keep, Products::kAlign);
  const int64_t width = padded<T>(keys.count), row = blocks.row, begin = keys.begin - blocks.first;
  blocks.products.times_keys(begin, count, width, in.q + head.at(s.q) + i * s.q.row, s.q.row, scores, row);
  blocks.dropout.draw(head, i, count, keys);
  // Rows are normalized after the product with the values, where they are shorter.
  T inverse[64];
  for (int64_t r = 0; r < count; ++r) {
    T* p = scores + r * row;
    mask_row(head, i + r, in, keys.begin, width, p);
    const int64_t at = head.row_at(i + r);
    const T highest = to.highest[at] = finite_or_zero(row_max(width, p));
    inverse[r] = to.inverse[at] = exponentials(width, highest, p);
    if (to.probabilities) write_row(s.Tk, keys.begin, width, inverse[r], p, to.probabilities + head.row(i + r));
    if (blocks.dropout.active()) blocks.dropout.apply(r, width, p);
  }
  T* const out = to.out + head.at(s.out) + i * s.out.row;
  blocks.products.sum_values(begin, count, keys.count, scores, row, out, s.out.row);
  for (int64_t r = 0; r < count; ++r)
    map_vectors(s.Dv, out + r * s.out.row, out + r * s.out.row, [&](Vec<T> x) { return x * inverse[r]; });
}

template <class Products, class T>
static void forward(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionResults<T>& to) {
  const int64_t block = Products::queries_per_block(s), blocks = ceil_div(s.Tq, block);
  // Units are the blocks of all heads that share keys and values, one head after the other.
  const int64_t shared = s.B * (s.H / s.group), units = s.group * blocks;
  if (shared == 0 || units == 0) return;
  const int64_t keys = max_keys(s, block, Products::kAlign), row = score_stride<Products>(keys);
  // If there are few heads, their blocks are split over threads; the split does not change any bits.
  const int64_t threads = num_threads();
  const int64_t parts = shared >= 2 * threads ? 1 : smaller(units, ceil_div(2 * threads, shared));
  for_tasks(shared * parts, worth_threads(s, keys), [&](int64_t task) {
    const int64_t b = task / parts / (s.H / s.group), h = task / parts % (s.H / s.group) * s.group;
    const int64_t part = task % parts, begin = units * part / parts, end = units * (part + 1) / parts;
    if (begin >= end) return;
    // The range of queries that the units cover: all of them if they span several heads.
    const bool one_head = begin / blocks == (end - 1) / blocks;
    const int64_t from = one_head ? begin % blocks * block : 0;
    const int64_t until = one_head ? smaller(s.Tq, ((end - 1) % blocks + 1) * block) : s.Tq;
    const KeyRange known = keys_of(s, from, until - from, Products::kAlign);
    const Head<T> head{s, b, h};
    Scratch<T> scores(block * row);
    Products products(s, block, known.count, rows_from(head, known.begin, in, in.k, s.k),
                      rows_from(head, known.begin, in, in.v, s.v));
    Dropout<T> dropout(s, block, keys);
    products.prepare_forward();
    const Blocks<Products, T> in_turn{known.begin, products, dropout, row};
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t i = unit % blocks * block;
      forward_block(Head<T>{s, b, h + unit / blocks}, i, smaller(block, s.Tq - i), in, in_turn, scores.data(), to);
    }
  });
}

/// One row: computes the probabilities p from its scores, and the gradient of the scaled scores from dp, the gradient
/// after dropout: ds = scale p (dp - delta), delta = sum of p dp. (The product of dout and out equals delta too, but
/// with different rounding, so that ds would not sum to zero.)
template <class T>
TAPE_INLINE void score_gradient(int64_t width, T highest, T inverse, T scale, T* p, T* dp) {
  constexpr int kStep = kLanes<T>;
  if (inverse == 0) {  // fully hidden
    for (int64_t j = 0; j < width; j += kStep) {
      store(p + j, Vec<T>{});
      store(dp + j, Vec<T>{});
    }
    return;
  }
  const T delta = static_cast<T>(row_sum(width, p, T(0), [&](Vec<T> x, int64_t j) {
    const Vec<T> probability = exp_of_negative(x - highest) * inverse;
    store(p + j, probability);
    return probability * load(dp + j);
  }));
  for (int64_t j = 0; j < width; j += kStep) store(dp + j, load(p + j) * (load(dp + j) - delta) * scale);
}

/// Accumulators for the gradients of a key and value head; null if not requested.
template <class T>
struct SharedSums {
  T* dk;
  int64_t dk_row;
  T* dv;
  int64_t dv_row;
};

template <class Products, class T>
static void backward_block(const Head<T>& head, int64_t i, int64_t count, const AttentionOperands<T>& in,
                           const AttentionGradients<T>& g, const SharedSums<T>& sums, const Blocks<Products, T>& blocks,
                           T* p, T* dp) {
  const AttentionShape& s = head.shape;
  const KeyRange keys = visible_keys(head, i, count, in.keep, Products::kAlign);
  const int64_t width = padded<T>(keys.count), row = blocks.row, begin = keys.begin - blocks.first;
  const T *q = in.q + head.at(s.q) + i * s.q.row, *dout = g.dout + head.at(s.out) + i * s.out.row;
  blocks.products.times_keys(begin, count, width, q, s.q.row, p, row);
  blocks.products.times_values(begin, count, width, dout, s.out.row, dp, row);
  blocks.dropout.draw(head, i, count, keys);
  const T scale = static_cast<T>(s.scale);
  for (int64_t r = 0; r < count; ++r) {
    T *pr = p + r * row, *dpr = dp + r * row;
    mask_row(head, i + r, in, keys.begin, width, pr);
    if (blocks.dropout.active()) blocks.dropout.apply(r, width, dpr);
    if (g.dprobabilities) {
      const T* more = g.dprobabilities + head.row(i + r) + keys.begin;
      for (int64_t j = 0; j < keys.count; ++j) dpr[j] += more[j];
    }
    const int64_t at = head.row_at(i + r);
    score_gradient(width, g.highest[at], g.inverse[at], g.dadditive ? T(1) : scale, pr, dpr);
    if (g.dadditive) {
      write_row(s.Tk, keys.begin, width, T(1), dpr, g.dadditive + head.row(i + r));
      for (int64_t j = 0; j < width; j += kLanes<T>) store(dpr + j, load(dpr + j) * scale);
    }
    if (blocks.dropout.active()) blocks.dropout.apply(r, width, pr);
  }
  if (g.dq) blocks.products.sum_keys(begin, count, keys.count, dp, row, g.dq + head.at(s.q) + i * s.q.row, s.q.row);
  if (sums.dk)
    blocks.products.add_transposed(keys.count, s.D, count, dp, row, q, s.q.row, sums.dk + keys.begin * sums.dk_row,
                                   sums.dk_row);
  if (sums.dv)
    blocks.products.add_transposed(keys.count, s.Dv, count, p, row, dout, s.out.row, sums.dv + keys.begin * sums.dv_row,
                                   sums.dv_row);
}

template <class T>
TAPE_INLINE void clear_rows(int64_t rows, int64_t cols, int64_t stride, T* x) {
  if (!x) return;
  for (int64_t r = 0; r < rows; ++r) __builtin_memset(x + r * stride, 0, static_cast<uint64_t>(cols) * sizeof(T));
}

/// With fewer key and value heads than this over the batch, the query heads of a group are summed by separate tasks, so
/// that all threads have work.
inline constexpr int64_t kFewShared = 4;

/// Adds the gradients of `heads` consecutive heads from h on into the same accumulators.
template <class Products, class T>
static void backward_heads(const AttentionShape& s, int64_t b, int64_t h, int64_t heads, const AttentionOperands<T>& in,
                           const AttentionGradients<T>& g, const SharedSums<T>& sums) {
  const int64_t block = Products::queries_per_block(s), keys = max_keys(s, block, Products::kAlign);
  const int64_t row = score_stride<Products>(keys);
  const Head<T> first{s, b, h};
  clear_rows(s.Tk, s.D, sums.dk_row, sums.dk);
  clear_rows(s.Tk, s.Dv, sums.dv_row, sums.dv);
  Scratch<T> p(block * row), dp(block * row);
  Products products(s, block, s.Tk, rows_from(first, 0, in, in.k, s.k), rows_from(first, 0, in, in.v, s.v));
  Dropout<T> dropout(s, block, keys);
  products.prepare_backward();
  const Blocks<Products, T> in_turn{0, products, dropout, row};
  for (int64_t head = h; head < h + heads; ++head)
    for (int64_t i = 0; i < s.Tq; i += block)
      backward_block(Head<T>{s, b, head}, i, smaller(block, s.Tq - i), in, g, sums, in_turn, p.data(), dp.data());
}

/// dk and dv of a head are summed over its blocks of queries in order, then over the next head of its group. With few
/// groups, they are summed within each query head first and then over heads. The choice, and so every bit, depends only
/// on the shape.
template <class Products, class T>
static void backward(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionGradients<T>& g) {
  const int64_t shared = s.H / s.group, keys = max_keys(s, Products::queries_per_block(s), Products::kAlign);
  const bool parallel = worth_threads(s, keys);
  const auto sums_of = [&](int64_t b, int64_t h) {
    const Head<T> head{s, b, h};
    return SharedSums<T>{g.dk ? g.dk + head.at_shared(s.k) : nullptr, s.k.row,
                         g.dv ? g.dv + head.at_shared(s.v) : nullptr, s.v.row};
  };
  if (s.group == 1 || s.B * shared >= kFewShared)
    return for_tasks(s.B * shared, parallel, [&](int64_t task) {
      const int64_t b = task / shared, h = task % shared * s.group;
      backward_heads<Products>(s, b, h, s.group, in, g, sums_of(b, h));
    });
  const int64_t of_keys = s.Tk * s.D, of_head = of_keys + s.Tk * s.Dv;
  Scratch<T> apart(larger(1, s.B * s.H * of_head));
  for_tasks(s.B * s.H, parallel, [&](int64_t task) {
    T* const own = apart.data() + task * of_head;
    const SharedSums<T> sums{g.dk ? own : nullptr, s.D, g.dv ? own + of_keys : nullptr, s.Dv};
    backward_heads<Products>(s, task / s.H, task % s.H, 1, in, g, sums);
  });
  const auto add_up = [&](const T* from, int64_t width, T* to) {
    for (int64_t d = 0; d < width; ++d) {
      T sum = from[d];
      for (int64_t head = 1; head < s.group; ++head) sum += from[head * of_head + d];
      to[d] = sum;
    }
  };
  for_chunks(s.B * shared * s.Tk, s.group * (s.D + s.Dv), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t j = at % s.Tk, b = at / s.Tk / shared, h = at / s.Tk % shared * s.group;
      const SharedSums<T> to = sums_of(b, h);
      const T* const first = apart.data() + (b * s.H + h) * of_head;
      if (to.dk) add_up(first + j * s.D, s.D, to.dk + j * to.dk_row);
      if (to.dv) add_up(first + of_keys + j * s.Dv, s.Dv, to.dv + j * to.dv_row);
    }
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
