#pragma once

// What the forward and the backward pass of attention share: where a head's operands lie, and the masked scores of a
// block of queries.

#include "../product/small_gemm.h"
#include "../random/philox.h"
#include "../vector/row_math.h"
#include "attention.h"

namespace tape::kernels::TAPE_LEVEL {

/// One head of one batch element.
template <class T>
struct Head {
  const AttentionShape& shape;
  int64_t b, h;

  TAPE_MEMBER int64_t at(const HeadLayout& layout) const { return b * layout.batch + h * layout.head; }
  /// Of keys or values.
  TAPE_MEMBER int64_t at_shared(const HeadLayout& layout) const {
    return b * layout.batch + h / shape.group * layout.head;
  }
  /// Row-major index of (b, h, i, 0) in [B, H, Tq, Tk].
  TAPE_MEMBER int64_t row(int64_t i) const { return ((b * shape.H + h) * shape.Tq + i) * shape.Tk; }
  TAPE_MEMBER int64_t row_at(int64_t i) const { return (b * shape.H + h) * shape.Tq + i; }
};

/// Keys or values of a head, one behind the other from `first` on; or each in the element of the batch that is chosen
/// for it, `first` being that of element 0.
template <class T>
struct HeadRows {
  const T* first;
  int64_t row;
  const int64_t* chosen;  // null: none
  int64_t batch;
  TAPE_MEMBER const T* operator[](int64_t j) const { return first + j * row + (chosen ? chosen[j] * batch : 0); }
};
/// Those of keys or values x from `begin` on.
template <class T>
TAPE_INLINE HeadRows<T> rows_from(const Head<T>& head, int64_t begin, const AttentionOperands<T>& in, const T* x,
                                  const HeadLayout& layout) {
  const int64_t* chosen = in.rows ? in.rows + head.b * in.rows_stride + begin : nullptr;
  const Head<T> at{head.shape, chosen ? 0 : head.b, head.h};
  return {x + at.at_shared(layout) + begin * layout.row, layout.row, chosen, layout.batch};
}

/// Query i sees keys [first_key, end_key), none where they cross.
TAPE_INLINE int64_t first_key(const AttentionShape& s, int64_t i) {
  return larger(0, smaller(s.Tk, i + s.first_offset));
}
TAPE_INLINE int64_t end_key(const AttentionShape& s, int64_t i) {
  return larger(0, smaller(s.Tk, i + s.causal_offset + 1));
}

/// The keys that a block of queries reads: those that any of them sees, from a whole number of `align` on.
struct KeyRange {
  int64_t begin, count;
};
TAPE_INLINE KeyRange keys_of(const AttentionShape& s, int64_t i, int64_t queries, int64_t align) {
  const int64_t begin = first_key(s, i) / align * align;
  return {begin, larger(0, end_key(s, i + queries - 1) - begin)};
}

/// How many of n values, from the first on or from the last back, are false.
TAPE_INLINE int64_t hidden_in_front(const bool* keep, int64_t n) {
  int64_t j = 0;
  for (uint64_t eight = 0; j + 8 <= n; j += 8) {
    __builtin_memcpy(&eight, keep + j, 8);
    if (eight) break;
  }
  while (j < n && !keep[j]) ++j;
  return j;
}
TAPE_INLINE int64_t hidden_behind(const bool* keep, int64_t n) {
  int64_t j = n;
  for (uint64_t eight = 0; j >= 8; j -= 8) {
    __builtin_memcpy(&eight, keep + j - 8, 8);
    if (eight) break;
  }
  while (j > 0 && !keep[j - 1]) --j;
  return n - j;
}

/// Of a block's keys, those from the first to the last that `keep` shows any of its queries: other documents of a row,
/// and padding, are not worked with.
template <class T>
TAPE_INLINE KeyRange shown_keys(const Head<T>& head, int64_t i, int64_t queries, const bool* keep, int64_t align) {
  const KeyRange keys = keys_of(head.shape, i, queries, align);
  const int64_t* strides = head.shape.keep_strides;
  if (!keep || strides[3] != 1) return keys;
  const bool* rows = keep + head.b * strides[0] + head.h * strides[1] + i * strides[2] + keys.begin;
  const int64_t different = strides[2] ? queries : 1;
  int64_t first = keys.count, behind = keys.count;
  for (int64_t r = 0; r < different && first + behind > 0; ++r) {
    const bool* row = rows + r * strides[2];
    first = hidden_in_front(row, first);
    behind = hidden_behind(row + keys.count - behind, behind);
  }
  if (first == keys.count) return {keys.begin, 0};
  const int64_t skipped = first / align * align;
  return {keys.begin + skipped, keys.count - behind - skipped};
}

/// Room for the keys that any block of so many queries reads.
TAPE_INLINE int64_t most_keys(const AttentionShape& s, int64_t queries, int64_t align) {
  const int64_t window = smaller(s.causal_offset, s.Tk) - larger(s.first_offset, -s.Tq);
  return smaller(s.Tk, larger(0, window) + queries + align);
}

/// Scores of keys [begin, begin + width) in place: scaled, plus the additive ones, -inf where hidden. `width` is a
/// whole number of vectors.
template <class T>
TAPE_INLINE void mask_row(const Head<T>& head, int64_t i, const AttentionOperands<T>& in, int64_t begin, int64_t width,
                          T* s) {
  constexpr int kStep = kLanes<T>;
  const AttentionShape& shape = head.shape;
  const T scale = static_cast<T>(shape.scale), hidden = static_cast<T>(-kInfinity);
  const int64_t visible = smaller(width, larger(0, end_key(shape, i) - begin));
  const int64_t first = smaller(width, first_key(shape, i) - begin);
  int64_t j = 0;
  for (; j + kStep <= visible; j += kStep) store(s + j, load(s + j) * scale);
  if (j < width) {
    using Whole = __typeof__(lane_numbers(T())[0]);
    store(s + j, lane_numbers(T()) < static_cast<Whole>(visible - j) ? load(s + j) * scale : fill(hidden));
  }
  for (j += kStep; j < width; j += kStep) store(s + j, fill(hidden));
  for (j = 0; j < first; ++j) s[j] = hidden;
  const auto offset = [&](const int64_t* strides) {
    return head.b * strides[0] + head.h * strides[1] + i * strides[2] + begin * strides[3];
  };
  if (in.additive) {
    const T* row = in.additive + offset(shape.additive_strides);
    const int64_t step = shape.additive_strides[3];
    if (step == 1)
      for (j = 0; j < visible; ++j) s[j] += row[j];
    else
      for (j = 0; j < visible; ++j) s[j] += row[j * step];
    // Infinity added to what is hidden would be no number.
    for (j = 0; j < first; ++j) s[j] = hidden;
  }
  if (in.keep) {
    const bool* row = in.keep + offset(shape.keep_strides);
    const int64_t step = shape.keep_strides[3];
    if (step == 1)
      for (j = 0; j < visible; ++j) s[j] = row[j] ? s[j] : hidden;
    else
      for (j = 0; j < visible; ++j) s[j] = row[j * step] ? s[j] : hidden;
  }
}

/// The dropout of a block of queries, of at most 64 and `keys` keys: factors of 0 or 1 / (1 - p).
template <class T>
class Dropout {
 public:
  TAPE_MEMBER Dropout(const AttentionShape& shape, int64_t block, int64_t keys)
      : shape_(shape),
        whole_(keys == shape.Tk),
        row_(keys + kDrawRoom + kLanes<T>),
        threshold_(drop_below(shape.dropout)),
        scale_(threshold_ >> 32 ? T(0) : static_cast<T>(1 / (1 - shape.dropout))),
        buffer_(active() ? block * (whole_ ? keys : row_) + kDrawRoom + kLanes<T> : 1) {}
  TAPE_MEMBER bool active() const { return shape_.dropout > 0; }
  /// Draws for keys [keys.begin, keys.begin + keys.count) and queries [i, i + count).
  TAPE_MEMBER void draw(const Head<T>& head, int64_t i, int64_t count, const KeyRange& keys) {
    if (!active() || !keys.count) return;
    const int64_t begin = head.row(i);
    if (whole_) {
      const uint32_t* all = draws_at(begin, count * shape_.Tk, 0);
      for (int64_t r = 0; r < count; ++r) words_[r] = all + r * shape_.Tk + keys.begin;
    } else {
      for (int64_t r = 0; r < count; ++r)
        words_[r] = draws_at(begin + r * shape_.Tk + keys.begin, keys.count, r * row_);
    }
  }
  /// x[j] times the factor of (row of the block, keys.begin + j), for a whole number of vectors; beyond the keys
  /// anything may come out of zeros.
  TAPE_MEMBER void apply(int64_t row, int64_t width, T* x) const {
    const uint32_t* word = words_[row];
    const uint32_t least = static_cast<uint32_t>(threshold_);
    const T scale = scale_;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      const T value = x[j] * scale;
      x[j] = word[j] >= least ? value : T(0);
    }
  }

 private:
  TAPE_MEMBER const uint32_t* draws_at(int64_t element, int64_t n, int64_t place) {
    return draws(shape_.seed, shape_.counter + static_cast<uint64_t>(element), n, buffer_.data() + place);
  }

  const AttentionShape& shape_;
  bool whole_;   // rows are drawn all at once
  int64_t row_;  // of the buffer, where they are not
  uint64_t threshold_;
  T scale_;
  Scratch<uint32_t> buffer_;
  const uint32_t* words_[64] = {};
};

/// A row of Tk values, `factor` times those of a row of scores for keys from `begin` on, zeros beside them.
template <class T>
TAPE_INLINE void write_row(int64_t Tk, int64_t begin, int64_t width, T factor, const T* s, T* to) {
  const int64_t n = smaller(Tk - begin, width);
  for (int64_t j = 0; j < begin; ++j) to[j] = T(0);
  for (int64_t j = 0; j < n; ++j) to[begin + j] = factor * s[j];
  for (int64_t j = begin + n; j < Tk; ++j) to[j] = T(0);
}

}  // namespace tape::kernels::TAPE_LEVEL
