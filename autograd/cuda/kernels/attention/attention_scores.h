#pragma once

// What attention's kernels do with scores: addresses of a head's operands, masks, dropout and exponentials.

#include "../../../kernels/random/common/random_draw.h"
#include "../bf16.h"
#include "../stable_exp.h"
#include "attention_tile.h"

using tape::kernels::AttentionGradients;
using tape::kernels::AttentionOperands;
using tape::kernels::AttentionResults;
using tape::kernels::AttentionShape;
using tape::kernels::HeadLayout;

/// One head of one batch element.
struct Head {
  int64_t b, h;

  __device__ Head(const AttentionShape& s, int64_t index) : b(index / s.H), h(index % s.H) {}
  /// Offset of the head's queries or outputs.
  __device__ int64_t at(const HeadLayout& layout) const { return b * layout.batch + h * layout.head; }
  /// Offset of the head's keys or values.
  __device__ int64_t at_shared(const HeadLayout& layout, int64_t group) const {
    return b * layout.batch + h / group * layout.head;
  }
  /// The head h + i of the same batch element.
  __device__ Head member(int64_t i) const {
    Head other = *this;
    other.h += i;
    return other;
  }
  /// Row-major index of (b, h, i) in [B, H, Tq].
  __device__ int64_t row(const AttentionShape& s, int64_t i) const { return (b * s.H + h) * s.Tq + i; }
};

/// Rows of queries or of their outputs: row i from `first` on, null at `count` and beyond.
template <class T>
struct QueryRows {
  const T* first;
  int64_t row, count;
  __device__ const T* operator()(int64_t i) const { return i < count ? first + i * row : nullptr; }
};
/// Rows of keys or values, which may each be in a batch element of their own.
template <class T>
struct KeyRows {
  const T* first;  // in batch element 0 with `chosen`
  int64_t row, count;
  const int64_t* chosen;  // batch element of each row, or null
  int64_t batch;
  __device__ const T* operator()(int64_t j) const {
    return j < count ? first + j * row + (chosen ? chosen[j] * batch : 0) : nullptr;
  }
};
template <class T>
__device__ QueryRows<T> query_rows(const AttentionShape& s, const Head& head, const T* x, const HeadLayout& layout) {
  return {x + head.at(layout), layout.row, s.Tq};
}
template <class T>
__device__ KeyRows<T> key_rows(const AttentionShape& s, const Head& head, const AttentionOperands<T>& in, const T* x,
                               const HeadLayout& layout) {
  const int64_t batch = in.rows ? 0 : head.b * layout.batch;
  return {x + batch + head.h / s.group * layout.head, layout.row, s.Tk,
          in.rows ? in.rows + head.b * in.rows_stride : nullptr, layout.batch};
}

/// The positions [begin, end) of an axis; may be empty.
struct Positions {
  int64_t begin, end;
};
__device__ inline int64_t inside(int64_t position, int64_t count) {
  return position < 0 ? 0 : position < count ? position : count;
}
/// Keys that causal mask and window show to any of the queries [i, i + count).
__device__ inline Positions keys_of_queries(const AttentionShape& s, int64_t i, int64_t count) {
  return {inside(i + s.first_offset, s.Tk), inside(i + count + s.causal_offset, s.Tk)};
}
/// Queries to which they show any of the keys [j, j + count).
__device__ inline Positions queries_of_keys(const AttentionShape& s, int64_t j, int64_t count) {
  return {inside(j - s.causal_offset, s.Tq), inside(j + count - s.first_offset, s.Tq)};
}

/// The masks of one head: which scores are hidden, and what is added to the others.
template <class T>
class HeadMasks {
 public:
  __device__ HeadMasks(const AttentionShape& s, const Head& head, const AttentionOperands<T>& in)
      : keep_(in.keep ? in.keep + head.b * s.keep_strides[0] + head.h * s.keep_strides[1] : nullptr),
        additive_(in.additive ? in.additive + head.b * s.additive_strides[0] + head.h * s.additive_strides[1]
                              : nullptr) {}

  /// Whether query i sees key j.
  __device__ bool shows(const AttentionShape& s, int64_t i, int64_t j) const {
    if (i >= s.Tq || j >= s.Tk || j < i + s.first_offset || j > i + s.causal_offset) return false;
    return !keep_ || keep_[i * s.keep_strides[2] + j * s.keep_strides[3]];
  }
  /// Whether all of the queries [i, i + count) see all of the keys [j, j + count): most tiles need no other test.
  __device__ bool shows_all(const AttentionShape& s, int64_t i, int64_t j, int64_t count) const {
    return !keep_ && i + count <= s.Tq && j + count <= s.Tk && j >= i + count - 1 + s.first_offset &&
           j + count - 1 <= i + s.causal_offset;
  }
  /// The score of a product of query and key.
  __device__ Compute<T> score(const AttentionShape& s, int64_t i, int64_t j, Compute<T> product) const {
    const Compute<T> scaled = product * static_cast<Compute<T>>(s.scale);
    return additive_ ? scaled + widened(additive_[i * s.additive_strides[2] + j * s.additive_strides[3]]) : scaled;
  }

 private:
  const bool* keep_;
  const T* additive_;
};

/// Dropout: probabilities are multiplied by 0 or 1 / (1 - p).
template <class T>
class AttentionDropout {
 public:
  __device__ explicit AttentionDropout(const AttentionShape& s)
      : least_(s.dropout < 1 ? static_cast<uint32_t>(s.dropout * 4294967296.0) : 0),
        factor_(s.dropout < 1 ? static_cast<T>(1 / (1 - s.dropout)) : T(0)) {}

  /// Whether key j is kept for the query with this row in [B, H, Tq].
  __device__ bool keeps(const AttentionShape& s, int64_t row, int64_t j) const {
    return s.dropout <= 0 ||
           tape::kernels::philox_draw(s.seed, s.counter + static_cast<uint64_t>(row * s.Tk + j)) >= least_;
  }
  /// Of what is kept.
  __device__ T factor() const { return factor_; }

 private:
  uint32_t least_;
  T factor_;
};

/// A maximum that is safe to subtract: 0 if all scores are hidden.
template <class T>
__device__ T finite_or_zero(T highest) {
  return highest == -INFINITY ? T(0) : highest;
}

/// The scores of one head in tiles. Bit i R + j of a set is element (i, j) of this thread.
template <class T, int R>
struct HeadScores {
  static constexpr int kEdge = kSide * R;
  const AttentionShape& s;
  Head head;
  QueryRows<T> q;
  KeyRows<T> k;
  HeadMasks<T> masks;

  __device__ HeadScores(const AttentionShape& shape, const Head& of, const AttentionOperands<T>& in)
      : s(shape),
        head(of),
        q(query_rows(shape, of, in.q, shape.q)),
        k(key_rows(shape, of, in, in.k, shape.k)),
        masks(shape, of, in) {}

  /// The visible elements of the tile of queries from i0 and keys from j0 on.
  __device__ uint32_t visible(int64_t i0, int64_t j0) const {
    if (masks.shows_all(s, i0, j0, kEdge)) return ~0U;
    uint32_t set = 0;
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < R; ++j)
        if (masks.shows(s, i0 + tile_y() + kSide * i, j0 + tile_x() + kSide * j)) set |= 1U << (i * R + j);
    return set;
  }
  /// The elements that dropout keeps.
  __device__ uint32_t kept(const AttentionDropout<T>& dropout, int64_t i0, int64_t j0) const {
    if (s.dropout <= 0) return ~0U;
    uint32_t set = 0;
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < R; ++j)
        if (dropout.keeps(s, head.row(s, i0 + tile_y() + kSide * i), j0 + tile_x() + kSide * j))
          set |= 1U << (i * R + j);
    return set;
  }
  /// The scores, -inf where hidden.
  __device__ void compute(TileMemory<T, R>& memory, uint32_t visible, int64_t i0, int64_t j0, T (&scores)[R][R]) const {
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < R; ++j) scores[i][j] = 0;
    add_row_products(
        memory, s.D, [&](int r) { return q(i0 + r); }, [&](int r) { return k(j0 + r); }, scores);
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < R; ++j)
        scores[i][j] = visible >> (i * R + j) & 1
                           ? masks.score(s, i0 + tile_y() + kSide * i, j0 + tile_x() + kSide * j, scores[i][j])
                           : T(-INFINITY);
  }
  /// The probabilities before dropout.
  __device__ void probabilities(TileMemory<T, R>& memory, uint32_t visible, int64_t i0, int64_t j0, const T* highest,
                                const T* inverse, T (&p)[R][R]) const {
    compute(memory, visible, i0, j0, p);
    for (int i = 0; i < R; ++i) {
      const int64_t query = i0 + tile_y() + kSide * i;
      if (query >= s.Tq) continue;  // all hidden
      const int64_t row = head.row(s, query);
      const T most = highest[row], factor = inverse[row];
      for (int j = 0; j < R; ++j) p[i][j] = exp_of_negative(p[i][j] - most) * factor;
    }
  }
};
