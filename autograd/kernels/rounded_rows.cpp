#include "autograd/kernels/rounded_rows.h"

#include <cmath>

#include "autograd/kernels/vec.h"

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

// With w = q + r, q = scale v exactly, u = 2^-24 and g = k u / (1 - k u): k products and sums of floats are off by at
// most g |x| |w| in any order (Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1), so that
//
//     |c - a| <= |c - x.w| + |x.r| + |x.q - a| <= |x| (|r| + g (|w| + |q|)),   |q| <= |w| + |r|.
//
// Norms are taken of t = w / scale and t - v, neither of which leaves the range of a float: t is off by 2 u |t|, and
// sums of k squares by k u of themselves. That, and the steps behind them, is in k + 16 for k and in the factor in
// front. What a bias and rounding to float add is a few u of the values themselves.

namespace tape::kernels::TAPE_LEVEL {
namespace {

constexpr int kTile = 4;  // rows at a time

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
float largest_of(int64_t k, const float* w) {
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

void round_row(const RoundedRows& to, int64_t i, const float* w) {
  constexpr float kLeast = 1e-30F;  // below it, 1 / scale leaves the range of a float
  constexpr float kWhole =
      0x1.8p23F;  // a float that large has no fraction: the sum with it is rounded to a whole number
  int8_t* const values = to.values + i * to.stride();
  for (int64_t j = to.k; j < to.stride(); ++j) values[j] = 0;
  const float most = largest_of(to.k, w);
  const bool finite = most < kInfinity, none = !finite || most < kLeast;
  const float scale = none ? 0 : most / 127, inverse = none ? 0 : 1 / scale;
  to.scale[i] = scale;
  if (none) {
    for (int64_t j = 0; j < to.k; ++j) values[j] = 0;
    // |w| <= k most, and so is what is left out.
    const float all = static_cast<float>(to.k) * most * 1.01F;
    to.bounds[i] = finite ? all : kInfinity;
    return;
  }
  for (int64_t j = 0; j < to.k; ++j) {
    const float whole = w[j] * inverse + kWhole;
    values[j] = static_cast<int8_t>(static_cast<int32_t>(whole - kWhole));
  }
  F32 weights = {}, rests = {};
  for (int64_t j = 0; j < to.k; j += kLanes<float>) {
    const F32 t = load_first_or_all(w + j, to.k - j, 0.0F) * inverse, rest = t - widen(values + j);
    weights += t * t;
    rests += rest * rest;
  }
  const double weight = scale * std::sqrt(static_cast<double>(fold(weights, Add()))),
               rest = scale * std::sqrt(static_cast<double>(fold(rests, Add())));
  const double ku = static_cast<double>(to.k + 16) * 0x1p-24;
  const double bound = (1.0001 + ku) * (rest + ku / (1 - ku) * (2 * weight + rest));
  to.bounds[i] = ku < 0.1 ? static_cast<float>(bound) : kInfinity;
}

void round(const RoundedRows& to, const float* weight) {
  for_chunks(
      to.n, to.k, [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
        for (int64_t i = begin; i < end; ++i) round_row(to, i, weight + i * to.k);
      });
}

/// Dot products of x and the values of four rows from `first` on.
TAPE_INLINE void estimate(const RoundedRows& rows, int64_t first, const float* x, float* sums) {
  F32 sum[kTile] = {};
  const int8_t *row[kTile], *ahead[kTile];
  // Past the last row, it once more.
  const auto row_at = [&](int64_t i) { return rows.values + smaller(i, rows.n - 1) * rows.stride(); };
  for (int r = 0; r < kTile; ++r) {
    row[r] = row_at(first + r);
    ahead[r] = row_at(first + r + 2 * kTile);
  }
  for (int64_t j = 0; j < rows.stride(); j += kLanes<float>) {
    const F32 by = load(x + j);
    if (j % 64 == 0)
      for (int r = 0; r < kTile; ++r) __builtin_prefetch(ahead[r] + j);
#pragma GCC unroll 4
    for (int r = 0; r < kTile; ++r) sum[r] += by * widen(row[r] + j);
  }
  for (int r = 0; r < kTile; ++r) sums[r] = fold(sum[r], Add());
}

float bracket(const RoundedRows& rows, const float* x, float norm, const float* bias, float* upper) {
  constexpr int64_t kTaskRows = 512;
  const int64_t tasks = divide_up(rows.n, kTaskRows);
  Scratch<float> lowest(tasks);
  for_tasks(
      tasks, tasks > 2, [&](int64_t task) __attribute__((always_inline)) {
        float most = -kInfinity;
        const int64_t end = smaller(rows.n, (task + 1) * kTaskRows);
        for (int64_t first = task * kTaskRows; first < end; first += kTile) {
          float sums[kTile];
          estimate(rows, first, x, sums);
          for (int64_t i = first; i < smaller(end, first + kTile); ++i) {
            const float y = rows.scale[i] * sums[i - first] + (bias ? bias[i] : 0);
            const float off = norm * rows.bounds[i] * 1.00001F + 6e-7F * __builtin_fabsf(y) + 1e-35F;
            upper[i] = y + off;
            most = y - off > most ? y - off : most;
          }
        }
        lowest[task] = most;
      });
  float most = -kInfinity;
  for (int64_t task = 0; task < tasks; ++task) most = lowest[task] > most ? lowest[task] : most;
  return most;
}

}  // namespace

extern const RoundedRowsKernels rounded_rows = {round, bracket};

}  // namespace tape::kernels::TAPE_LEVEL
