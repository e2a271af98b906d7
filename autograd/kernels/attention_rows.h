#pragma once

// What the forward and the backward pass of attention share: where a head's operands lie, and the masked scores of a
// block of queries.

#include "attention.h"
#include "philox.h"
#include "row_math.h"
#include "small_gemm.h"

namespace tape::kernels::TAPE_LEVEL {

/// One head of one batch element.
template <class T>
struct Head {
  const AttentionShape& shape;
  int64_t b, h;

  TAPE_MEMBER int64_t at(const HeadLayout& layout) const { return b * layout.batch + h * layout.head; }
  /// Row-major index of (b, h, i, 0) in [B, H, Tq, Tk].
  TAPE_MEMBER int64_t row(int64_t i) const { return ((b * shape.H + h) * shape.Tq + i) * shape.Tk; }
  TAPE_MEMBER int64_t lse_at(int64_t i) const { return (b * shape.H + h) * shape.Tq + i; }
  /// Query i sees the first keys only.
  TAPE_MEMBER int64_t visible(int64_t i) const { return larger(0, smaller(shape.Tk, i + shape.causal_offset + 1)); }
};

/// Scores in place: scaled, plus the additive ones, -inf where hidden and up to `width`, a whole number of vectors.
template <class T>
TAPE_INLINE void mask_row(const Head<T>& head, int64_t i, const AttentionOperands<T>& in, int64_t width, T* s) {
  constexpr int kStep = kLanes<T>;
  const AttentionShape& shape = head.shape;
  const T scale = static_cast<T>(shape.scale), hidden = static_cast<T>(-kInfinity);
  const int64_t visible = head.visible(i);
  int64_t j = 0;
  for (; j + kStep <= visible; j += kStep) store(s + j, load(s + j) * scale);
  if (j < width) {
    using Whole = __typeof__(lane_numbers(T())[0]);
    store(s + j, lane_numbers(T()) < static_cast<Whole>(visible - j) ? load(s + j) * scale : fill(hidden));
  }
  for (j += kStep; j < width; j += kStep) store(s + j, fill(hidden));
  const auto offset = [&](const int64_t* strides) {
    return head.b * strides[0] + head.h * strides[1] + i * strides[2];
  };
  if (in.additive) {
    const T* row = in.additive + offset(shape.additive_strides);
    const int64_t step = shape.additive_strides[3];
    if (step == 1)
      for (j = 0; j < visible; ++j) s[j] += row[j];
    else
      for (j = 0; j < visible; ++j) s[j] += row[j * step];
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

/// The dropout of a block of queries: factors of 0 or 1 / (1 - p).
template <class T>
class Dropout {
 public:
  TAPE_MEMBER Dropout(const AttentionShape& shape, int64_t block)
      : shape_(shape),
        threshold_(drop_below(shape.dropout)),
        scale_(threshold_ >> 32 ? T(0) : static_cast<T>(1 / (1 - shape.dropout))),
        buffer_(active() ? block * shape.Tk + kDrawRoom + kLanes<T> : 1) {}
  TAPE_MEMBER bool active() const { return shape_.dropout > 0; }
  /// Draws for queries [i, i + count).
  TAPE_MEMBER void draw(const Head<T>& head, int64_t i, int64_t count) {
    if (active() && shape_.Tk)
      words_ =
          draws(shape_.seed, shape_.counter + static_cast<uint64_t>(head.row(i)), count * shape_.Tk, buffer_.data());
  }
  /// x[j] times the factor of (row of the block, j), for a whole number of vectors; beyond Tk anything may come out of
  /// zeros.
  TAPE_MEMBER void apply(int64_t row, int64_t width, T* x) const {
    const uint32_t* word = words_ + row * shape_.Tk;
    const uint32_t least = static_cast<uint32_t>(threshold_);
    const T scale = scale_;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      const T value = x[j] * scale;
      x[j] = word[j] >= least ? value : T(0);
    }
  }

 private:
  const AttentionShape& shape_;
  uint64_t threshold_;
  T scale_;
  Scratch<uint32_t> buffer_;
  const uint32_t* words_ = nullptr;
};

/// A row of Tk values, `factor` times the first ones of a row of scores, zeros beyond.
template <class T>
TAPE_INLINE void write_row(int64_t Tk, int64_t width, T factor, const T* s, T* to) {
  const int64_t n = smaller(Tk, width);
  for (int64_t j = 0; j < n; ++j) to[j] = factor * s[j];
  for (int64_t j = n; j < Tk; ++j) to[j] = T(0);
}

}  // namespace tape::kernels::TAPE_LEVEL
