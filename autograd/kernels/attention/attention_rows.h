#pragma once

// Shared by the forward and the backward pass of attention: addresses of a head's operands, and the masked scores of a
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
  /// Offset of the head's keys or values.
  TAPE_MEMBER int64_t at_shared(const HeadLayout& layout) const {
    return b * layout.batch + h / shape.group * layout.head;
  }
  /// Row-major index of (b, h, i, 0) in [B, H, Tq, Tk].
  TAPE_MEMBER int64_t row(int64_t i) const { return ((b * shape.H + h) * shape.Tq + i) * shape.Tk; }
  TAPE_MEMBER int64_t row_at(int64_t i) const { return (b * shape.H + h) * shape.Tq + i; }
};

/// Rows of keys or values of a head, consecutive from `first` on; or, with `chosen`, each in its own batch element,
/// where `first` is the row in batch element 0.
template <class T>
struct HeadRows {
  const T* first;
  int64_t row;
  const int64_t* chosen;  // batch element of each row, or null
  int64_t batch;
  TAPE_MEMBER const T* operator[](int64_t j) const { return first + j * row + (chosen ? chosen[j] * batch : 0); }
};
/// The rows of keys or values x from `begin` on.
template <class T>
TAPE_INLINE HeadRows<T> rows_from(const Head<T>& head, int64_t begin, const AttentionOperands<T>& in, const T* x,
                                  const HeadLayout& layout) {
  const int64_t* chosen = in.rows ? in.rows + head.b * in.rows_stride + begin : nullptr;
  const Head<T> at{head.shape, chosen ? 0 : head.b, head.h};
  return {x + at.at_shared(layout) + begin * layout.row, layout.row, chosen, layout.batch};
}

/// Query i sees keys [first_key, end_key); the range may be empty.
TAPE_INLINE int64_t first_key(const AttentionShape& s, int64_t i) {
  return larger(0, smaller(s.Tk, i + s.first_offset));
}
TAPE_INLINE int64_t end_key(const AttentionShape& s, int64_t i) {
  return larger(0, smaller(s.Tk, i + s.causal_offset + 1));
}

/// The keys visible to any of a block's queries, starting at a multiple of `align`.
struct KeyRange {
  int64_t begin, count;
};
TAPE_INLINE KeyRange keys_of(const AttentionShape& s, int64_t i, int64_t queries, int64_t align) {
  const int64_t begin = first_key(s, i) / align * align;
  return {begin, larger(0, end_key(s, i + queries - 1) - begin)};
}

/// Number of leading (or trailing) false values among n.
TAPE_INLINE int64_t leading_hidden(const bool* keep, int64_t n) {
  int64_t j = 0;
  for (uint64_t eight = 0; j + 8 <= n; j += 8) {
    __builtin_memcpy(&eight, keep + j, 8);
    if (eight) break;
  }
  while (j < n && !keep[j]) ++j;
  return j;
}
TAPE_INLINE int64_t trailing_hidden(const bool* keep, int64_t n) {
  int64_t j = n;
  for (uint64_t eight = 0; j >= 8; j -= 8) {
    __builtin_memcpy(&eight, keep + j - 8, 8);
    if (eight) break;
  }
  while (j > 0 && !keep[j - 1]) --j;
  return n - j;
}

/// The range from the first to the last of a block's keys that `keep` shows to any of its queries, so that no work is
/// spent on padding and other documents of a packed row.
template <class T>
TAPE_INLINE KeyRange visible_keys(const Head<T>& head, int64_t i, int64_t queries, const bool* keep, int64_t align) {
  const KeyRange keys = keys_of(head.shape, i, queries, align);
  const int64_t* strides = head.shape.keep_strides;
  if (!keep || strides[3] != 1) return keys;
  const bool* rows = keep + head.b * strides[0] + head.h * strides[1] + i * strides[2] + keys.begin;
  const int64_t different = strides[2] ? queries : 1;
  int64_t first = keys.count, behind = keys.count;
  for (int64_t r = 0; r < different && first + behind > 0; ++r) {
    const bool* row = rows + r * strides[2];
    first = leading_hidden(row, first);
    behind = trailing_hidden(row + keys.count - behind, behind);
  }
  if (first == keys.count) return {keys.begin, 0};
  const int64_t skipped = first / align * align;
  return {keys.begin + skipped, keys.count - behind - skipped};
}

/// Maximum number of keys that any block of the given number of queries reads.
TAPE_INLINE int64_t max_keys(const AttentionShape& s, int64_t queries, int64_t align) {
  const int64_t window = smaller(s.causal_offset, s.Tk) - larger(s.first_offset, -s.Tq);
  return smaller(s.Tk, larger(0, window) + queries + align);
}

/// Applies scale, bias and masks in place to the scores of keys [begin, begin + width); hidden ones become -inf.
/// `width` is a multiple of the vector length.
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
    // Adding an infinite bias to a hidden score would give NaN.
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

/// Dropout factors, 0 or 1 / (1 - p), of a block of at most 64 queries and `keys` keys.
template <class T>
class Dropout {
 public:
  TAPE_MEMBER Dropout(const AttentionShape& shape, int64_t block, int64_t keys)
      : shape_(shape),
        whole_(keys == shape.Tk),
        row_(keys + kDrawPadding + kLanes<T>),
        threshold_(drop_below(shape.dropout)),
        scale_(threshold_ >> 32 ? T(0) : static_cast<T>(1 / (1 - shape.dropout))),
        buffer_(active() ? block * (whole_ ? keys : row_) + kDrawPadding + kLanes<T> : 1) {}
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
  /// Multiplies x[j] by the factor of (row of the block, keys.begin + j), for whole vectors; x must be zero beyond the
  /// keys, and is unspecified there afterwards.
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
  bool whole_;   // whether all rows are drawn at once
  int64_t row_;  // otherwise the row stride of the buffer
  uint64_t threshold_;
  T scale_;
  Scratch<uint32_t> buffer_;
  const uint32_t* words_[64] = {};
};

/// Writes a row of Tk values: `factor` times a row of scores for the keys from `begin` on, zeros elsewhere.
template <class T>
TAPE_INLINE void write_row(int64_t Tk, int64_t begin, int64_t width, T factor, const T* s, T* to) {
  const int64_t n = smaller(Tk - begin, width);
  for (int64_t j = 0; j < begin; ++j) to[j] = T(0);
  for (int64_t j = 0; j < n; ++j) to[begin + j] = factor * s[j];
  for (int64_t j = begin + n; j < Tk; ++j) to[j] = T(0);
}

}  // namespace tape::kernels::TAPE_LEVEL
