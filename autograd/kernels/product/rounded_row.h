#pragma once

// A row of floats w in whole numbers v of 8 bits, w = q + r with q = scale v exactly, and what is known of it.
//
// Norms are taken of t = w / scale and t - v, neither of which leaves the range of a float: t is off by 2 u |t|
// (u = 2^-24), and sums of k squares by k u of themselves, which the functions of RoundedRow add.

#include <cmath>

#include "../vector/vec.h"
#include "rounded_rows.h"

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

namespace tape::kernels::TAPE_LEVEL {

/// As many whole numbers of 8 bits as a vector has floats. Left to g++, they are converted one by one.
TAPE_INLINE F32 widen(const int8_t* values) {
#if defined(__AVX512F__)
  const I32 wide = (I32)_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128((const __m128i*)values));
#elif defined(__AVX2__)
  const I32 wide = (I32)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)values));
#elif defined(__SSE4_1__)
  const I32 wide = (I32)_mm_cvtepi8_epi32(_mm_loadu_si32(values));
#else
  typedef int8_t I8 __attribute__((vector_size(TAPE_VECTOR_BYTES / 4)));
  I8 narrow;
  __builtin_memcpy(&narrow, values, sizeof(narrow));
  const I32 wide = __builtin_convertvector(narrow, I32);
#endif
  return __builtin_convertvector(wide, F32);
}

/// The largest |w|, infinity or NaN where one is no number.
TAPE_INLINE float largest_of(int64_t k, const float* w) {
  uint32_t largest = 0;  // as numbers, the bits of positive floats are in their order
  for (int64_t j = 0; j < k; ++j) {
    uint32_t bits;
    __builtin_memcpy(&bits, w + j, sizeof(bits));
    bits &= 0x7FFFFFFFU;
    largest = bits > largest ? bits : largest;
  }
  float most;
  __builtin_memcpy(&most, &largest, sizeof(most));
  return most;
}

/// (k + 16) u: the rounding of sums of k products, and of the steps behind them.
TAPE_INLINE double sums_round(int64_t k) { return static_cast<double>(k + 16) * 0x1p-24; }

/// Where all values are below it, 1 / scale leaves the range of a float, and nothing but zeros is kept of them.
constexpr float kLeast = 1e-30F;
/// Of a step: what rounding a value leaves, but for that.
constexpr float kHalf = 0.5001F;
/// What numbers below the range of a float may add up to.
constexpr float kLeastOff = 1e-35F;

struct RoundedRow {
  float scale, inverse;  // 0 where nothing but zeros is kept
  double whole, rest;    // |w| and |r|, nearly
  int64_t k;

  /// Not below |w|, |r| and |q|.
  TAPE_MEMBER double whole_above() const { return (1.0001 + sums_round(k)) * whole; }
  TAPE_MEMBER double rest_above() const { return (1.0001 + sums_round(k)) * (rest + 0x1p-22 * whole); }
  TAPE_MEMBER double rounded_above() const { return whole_above() + rest_above(); }
};

/// The nearest whole number.
TAPE_INLINE float nearest(float t) {
  constexpr float kWhole = 0x1.8p23F;  // a float that large has no fraction: the sum with it is rounded
  return t + kWhole - kWhole;
}

/// Writes `values`, zeros behind k up to `stride`. Of a row with NaN or infinity they are zeros, and norms infinite.
TAPE_INLINE RoundedRow round_row(int64_t k, const float* w, int64_t stride, int8_t* values) {
  const float most = largest_of(k, w);
  const bool finite = most < kInfinity, none = !finite || most < kLeast;
  for (int64_t j = none ? 0 : k; j < stride; ++j) values[j] = 0;
  if (none) {
    const double all = finite ? static_cast<double>(k) * most : static_cast<double>(kInfinity);  // |w| <= k most
    return {0, 0, all, all, k};
  }
  const float scale = most / 127, inverse = 1 / scale;
  for (int64_t j = 0; j < k; ++j) values[j] = static_cast<int8_t>(static_cast<int32_t>(nearest(w[j] * inverse)));
  F32 wholes = {}, rests = {};
  for (int64_t j = 0; j < k; j += kLanes<float>) {
    const F32 t = load_first_or_all(w + j, k - j, 0.0F) * inverse, rest = t - widen(values + j);
    wholes += t * t;
    rests += rest * rest;
  }
  return {scale, inverse, scale * std::sqrt(static_cast<double>(fold(wholes, Add()))),
          scale * std::sqrt(static_cast<double>(fold(rests, Add()))), k};
}

/// What a product of x and a row may be off by, which is rounded to q + r: |x.r| <= outside max |r| + inside |r|, where
/// `inside` is the norm of x without the few values that are far larger than the others, and `outside` the sum of what
/// these are. A norm of all would make of one such value an error as large as if all were like it.
struct Spread {
  float norm, inside, outside;  // not below what they say
};

/// Of x, which round_row() gave `row` of.
TAPE_INLINE Spread spread_of(const float* x, const RoundedRow& row) {
  const float all = static_cast<float>(row.whole_above() * 1.000001);
  Spread spread{all, all, 0};
  if (row.scale == 0) return spread;
  // |r| is some sqrt(k / 3) times half a step: so large is a value that is better counted by itself. Without it the
  // norm is smaller, and others may be too large beside that.
  const float share = 2 * std::sqrt(3 / static_cast<float>(row.k));
  for (int turn = 0; turn < 3; ++turn) {
    const float most = share * spread.inside * row.inverse;
    F32 squares = {}, sums = {};
    for (int64_t j = 0; j < row.k; j += kLanes<float>) {
      const F32 t = load_first_or_all(x + j, row.k - j, 0.0F) * row.inverse, size = t < 0 ? -t : t;
      squares += size > most ? F32{} : t * t;
      sums += size > most ? size : F32{};
    }
    const double above = (1.0001 + sums_round(row.k)) * static_cast<double>(row.scale);
    spread.inside = static_cast<float>(above * std::sqrt(static_cast<double>(fold(squares, Add()))));
    spread.outside = static_cast<float>(above * static_cast<double>(fold(sums, Add())));
  }
  return spread;
}

/// k products and sums of floats, of x and w, are off by at most g |x| |w| in any order, g = k u / (1 - k u) (Higham
/// 2002, "Accuracy and Stability of Numerical Algorithms", 3.1); so are those of x and q. The 16 roundings more that
/// sums_round() counts are for what is done with a sum then.
TAPE_INLINE float both_sums_round(int64_t k) {
  const double g = sums_round(k) / (1 - sums_round(k));
  return static_cast<float>(2.0001 * g);
}

/// How far estimates of products with x may be off: of one x, or of one a lane.
template <class V>
struct Off {
  V outside, inside;  // as Spread has them
  V by_norm;          // what is off by the norm of a word
  V least;

  /// Of the estimate y for word i, bias and all.
  TAPE_MEMBER V of(const RoundedRows& rows, int64_t i, V y) const {
    const V rest = outside * (kHalf * rows.scale[i]) + inside * rows.rests[i];
    return 1.00001F * (rest + by_norm * rows.norms[i]) + 6e-7F * (y < 0 ? -y : y) + least;
  }
};

/// Of an x whose own rounding leaves `rest`.
TAPE_INLINE Off<float> off_of(int64_t k, const Spread& spread, float rest) {
  return {spread.outside, spread.inside, both_sums_round(k) * spread.norm + rest, kLeastOff + kLeast * spread.outside};
}

/// Whether products with an x of that norm may leave the range of a float on the way: estimates say nothing then.
TAPE_INLINE bool may_overflow(const RoundedRows& rows, float norm) {
  F32 most = {};
  for (int64_t i = 0; i < rows.n; i += kLanes<float>)
    most = Larger()(most, load_first_or_all(rows.norms + i, rows.n - i, 0.0F));
  return !(norm * fold(most, Larger()) < 1e38F);
}

}  // namespace tape::kernels::TAPE_LEVEL
