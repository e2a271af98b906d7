#include "autograd/kernels/product/int8_rows.h"

#include <cmath>

#include "autograd/kernels/vector/vec.h"

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

// A row w of floats is w = q + r, where q = scale v exactly and v are 8-bit integers. Let c be the float dot product of
// x and w, summed in any order, and a that of x and q. Then
//
//     |c - a| <= |c - x.w| + |x.r| + |x.q - a| <= |x.r| + g |x| (|w| + |q|),
//
// g = k u / (1 - k u), u = 2^-24 (Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1).
//
// Norms are computed of t = w / scale and t - v, which stay in the range of a float: t has an error of 2 u |t|, and
// sums of k squares a relative one of k u, which above() adds.

namespace tape::kernels::TAPE_LEVEL {
namespace {

constexpr int kTile = 4;  // rows at a time
/// If all values are below this, 1 / scale is out of the range of a float, and the row is stored as zeros.
constexpr float kLeast = 1e-30F;
/// The largest rounding error of a value, in units of `scale`, with a margin for the rounding of the division.
constexpr float kHalf = 0.5001F;
/// An upper bound on the sum of values that underflow.
constexpr float kLeastOff = 1e-35F;

/// (k + 16) u: the rounding of sums of k products and of the steps that follow.
double sums_round(int64_t k) { return static_cast<double>(k + 16) * 0x1p-24; }
/// Factor by which norms over k values may be too small.
double above(int64_t k) { return 1.0001 + sums_round(k); }
/// Rounds a double up to a float.
float rounded_up(double x) { return static_cast<float>(x * 1.000001); }

/// One vector of 8-bit integers as floats. Without this, g++ converts them one by one.
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

/// The largest |w|; infinity or NaN if any value is.
TAPE_INLINE float largest_of(int64_t k, const float* w) {
  uint32_t largest = 0;  // the bits of positive floats are ordered like their values
  for (int64_t j = 0; j < k; ++j) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, w[j]) & 0x7FFFFFFFU;
    largest = bits > largest ? bits : largest;
  }
  return __builtin_bit_cast(float, largest);
}

/// Rounds to the nearest integer.
TAPE_INLINE float nearest(float t) {
  constexpr float kWhole = 0x1.8p23F;  // a float this large has no fraction, so the sum is rounded
  return t + kWhole - kWhole;
}

/// Packs row i: values padded with zeros, scale and norms. A row with NaN or infinity has zero values and infinite
/// norms.
TAPE_INLINE void round_row(const Int8Rows& to, int64_t i, const float* w) {
  int8_t* const values = to.values + i * to.stride();
  const float most = largest_of(to.k, w);
  const bool finite = most < kInfinity, none = !finite || most < kLeast;
  for (int64_t j = none ? 0 : to.k; j < to.stride(); ++j) values[j] = 0;
  if (none) {
    to.scale[i] = 0;
    to.norms[i] = to.rests[i] = finite ? rounded_up(static_cast<double>(to.k) * most) : kInfinity;  // |w| <= k most
    return;
  }
  const float scale = most / 127, inverse = 1 / scale;
  for (int64_t j = 0; j < to.k; ++j) values[j] = static_cast<int8_t>(static_cast<int32_t>(nearest(w[j] * inverse)));
  F32 wholes = {}, rests = {};
  for (int64_t j = 0; j < to.k; j += kLanes<float>) {
    const F32 t = load_first_or_all(w + j, to.k - j, 0.0F) * inverse, rest = t - widen(values + j);
    wholes += t * t;
    rests += rest * rest;
  }
  const auto norm = [&](F32 squares) { return scale * std::sqrt(static_cast<double>(fold(squares, Add()))); };
  const double whole = norm(wholes), rest = above(to.k) * (norm(rests) + 0x1p-22 * whole);
  to.scale[i] = scale;
  to.norms[i] = rounded_up(above(to.k) * whole + rest);
  to.rests[i] = rounded_up(rest);
}

void round(const Int8Rows& to, const float* weight) {
  const bool known = sums_round(to.k) < 0.1;
  for_chunks(
      to.n, to.k, [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
        for (int64_t i = begin; i < end; ++i) {
          round_row(to, i, weight + i * to.k);
          if (!known) to.norms[i] = to.rests[i] = kInfinity;
        }
      });
}

/// |x.r| <= outside max |r| + inside |r|, where `inside` is the norm of x without its few outliers, and `outside` the
/// sum of their magnitudes. With a single norm, one outlier would give the error bound of a vector of outliers.
struct NormSplit {
  float norm, inside, outside;  // upper bounds
};

NormSplit split_norm(int64_t k, const float* x) {
  const float most = largest_of(k, x), inverse = 1 / most;
  if (!(most < kInfinity)) return {kInfinity, kInfinity, 0};
  NormSplit spread{static_cast<float>(k) * most, static_cast<float>(k) * most, 0};
  if (most < kLeast) return spread;
  // |r| is about sqrt(k / 3) times half a step, which gives the magnitude from which a value is better counted
  // separately. Removing outliers lowers the norm, so that more values may become outliers.
  const float share = 2 * std::sqrt(3 / static_cast<float>(k));
  const double by = above(k) * static_cast<double>(most);
  for (int turn = 0; turn < 4; ++turn) {
    const float limit = turn == 0 ? kInfinity : share * spread.inside * inverse;
    F32 squares = {}, sums = {};
    for (int64_t j = 0; j < k; j += kLanes<float>) {
      const F32 t = load_first_or_all(x + j, k - j, 0.0F) * inverse, size = t < 0 ? -t : t;
      squares += size > limit ? F32{} : t * t;
      sums += size > limit ? size : F32{};
    }
    spread.inside = rounded_up(by * std::sqrt(static_cast<double>(fold(squares, Add()))));
    spread.outside = rounded_up(by * static_cast<double>(fold(sums, Add())));
    if (turn == 0) spread.norm = spread.inside;
  }
  return spread;
}

/// Whether products with an x of that norm may overflow a float in between; the estimates are then unusable.
bool may_overflow(const Int8Rows& rows, float norm) {
  F32 most = {};
  for (int64_t i = 0; i < rows.n; i += kLanes<float>)
    most = Larger()(most, load_first_or_all(rows.norms + i, rows.n - i, 0.0F));
  return !(norm * fold(most, Larger()) < 1e38F);
}

/// Dot products of x and the values of four rows from `first` on.
TAPE_INLINE void estimate(const Int8Rows& rows, int64_t first, const float* x, float* sums) {
  F32 sum[kTile] = {};
  const int8_t *row[kTile], *ahead[kTile];
  // Rows past the end repeat the last one.
  const auto row_at = [&](int64_t i) { return rows.values + smaller(i, rows.n - 1) * rows.stride(); };
  for (int r = 0; r < kTile; ++r) {
    row[r] = row_at(first + r);
    ahead[r] = row_at(first + r + 2 * kTile);
  }
  for (int64_t j = 0; j < rows.stride(); j += kLanes<float>) {
    const F32 by = load(x + j);
    if (j % 64 == 0)
      for (int r = 0; r < kTile; ++r) __builtin_prefetch(ahead[r] + j, 0, 2);
#pragma GCC unroll 4
    for (int r = 0; r < kTile; ++r) sum[r] += by * widen(row[r] + j);
  }
  fold_four(sum, sums);
}

void bound(const Int8Rows& rows, const float* x, const float* bias, float* upper, float* lower) {
  const int64_t groups = rows.groups();
  const NormSplit spread = split_norm(rows.k, x);
  if (may_overflow(rows, spread.norm)) {
    for (int64_t i = 0; i < rows.n; ++i) upper[i] = kInfinity;
    for (int64_t group = 0; group < groups; ++group) lower[group] = -kInfinity;
    return;
  }
  const Scratch<float> padded(rows.stride());
  for (int64_t j = 0; j < rows.stride(); ++j) padded[j] = j < rows.k ? x[j] : 0;
  // The error of both sums, and 16 more roundings for what is then computed from a sum.
  const float sums_off = static_cast<float>(2.0001 * sums_round(rows.k) / (1 - sums_round(rows.k))) * spread.norm;
  const float least = kLeastOff + kLeast * spread.outside;
  const auto off_of = [&](int64_t i, float y) __attribute__((always_inline)) {
    const float rest = spread.outside * (kHalf * rows.scale[i]) + spread.inside * rows.rests[i];
    return 1.00001F * (rest + sums_off * rows.norms[i]) + 6e-7F * (y < 0 ? -y : y) + least;
  };
  constexpr int64_t kTaskGroups = 8;
  const int64_t tasks = ceil_div(groups, kTaskGroups);
  for_tasks(
      tasks, tasks > 2, [&](int64_t task) __attribute__((always_inline)) {
        for (int64_t group = task * kTaskGroups; group < smaller(groups, (task + 1) * kTaskGroups); ++group) {
          float most = -kInfinity;
          const int64_t end = smaller(rows.n, (group + 1) * Int8Rows::kGroup);
          for (int64_t first = group * Int8Rows::kGroup; first < end; first += kTile) {
            float sums[kTile];
            estimate(rows, first, padded.data(), sums);
            for (int64_t i = first; i < smaller(end, first + kTile); ++i) {
              const float y = rows.scale[i] * sums[i - first] + (bias ? bias[i] : 0);
              const float off = off_of(i, y);
              upper[i] = y + off;
              most = y - off > most ? y - off : most;
            }
          }
          lower[group] = most;
        }
      });
}

}  // namespace

extern const Int8RowsKernels int8_rows = {round, bound};

}  // namespace tape::kernels::TAPE_LEVEL
