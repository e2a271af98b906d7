#include "autograd/kernels/product/rounded_rows.h"

#include "autograd/kernels/index/common/kth_largest.h"
#include "autograd/kernels/product/rounded_row.h"

// With w = q + r (rounded_row.h), c the dot product of x and w as floats give it, in any order, and a that of x and q,
//
//     |c - a| <= |c - x.w| + |x.r| + |x.q - a| <= |x.r| + g |x| (|w| + |q|).

namespace tape::kernels::TAPE_LEVEL {
namespace {

constexpr int kTile = 4;  // rows at a time

void round(const RoundedRows& to, const float* weight) {
  for_chunks(
      to.n, to.k, [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
        for (int64_t i = begin; i < end; ++i) {
          int8_t* const values = to.values + i * to.stride();
          const RoundedRow row = round_row(to.k, weight + i * to.k, to.stride(), values);
          int32_t sum = 0;
          for (int64_t j = 0; j < to.k; ++j) sum += values[j];
          const bool known = sums_round(to.k) < 0.1;
          to.scale[i] = row.scale;
          to.sums[i] = sum;
          to.norms[i] = known ? static_cast<float>(row.rounded_above() * 1.000001) : kInfinity;
          to.rests[i] = known ? static_cast<float>(row.rest_above() * 1.000001) : kInfinity;
        }
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
      for (int r = 0; r < kTile; ++r) __builtin_prefetch(ahead[r] + j, 0, 2);
#pragma GCC unroll 4
    for (int r = 0; r < kTile; ++r) sum[r] += by * widen(row[r] + j);
  }
  fold_four(sum, sums);
}

float bracket(const RoundedRows& rows, const float* x, const float* bias, int64_t top, float* upper) {
  const Scratch<int8_t> rounded(rows.stride());
  const Scratch<float> padded(rows.stride());
  for (int64_t j = 0; j < rows.stride(); ++j) padded[j] = j < rows.k ? x[j] : 0;
  const Spread spread = spread_of(x, round_row(rows.k, x, rows.stride(), rounded.data()));
  if (may_overflow(rows, spread.norm)) {
    for (int64_t i = 0; i < rows.n; ++i) upper[i] = kInfinity;
    return -kInfinity;
  }
  const Off<float> at_most = off_of(rows.k, spread, 0);
  constexpr int64_t kTaskGroups = 8;
  const int64_t groups = rows.groups(), tasks = divide_up(groups, kTaskGroups);
  const Scratch<float> least(groups);
  for_tasks(
      tasks, tasks > 2, [&](int64_t task) __attribute__((always_inline)) {
        for (int64_t group = task * kTaskGroups; group < smaller(groups, (task + 1) * kTaskGroups); ++group) {
          float most = -kInfinity;
          const int64_t end = smaller(rows.n, (group + 1) * RoundedRows::kGroup);
          for (int64_t first = group * RoundedRows::kGroup; first < end; first += kTile) {
            float sums[kTile];
            estimate(rows, first, padded.data(), sums);
            for (int64_t i = first; i < smaller(end, first + kTile); ++i) {
              const float y = rows.scale[i] * sums[i - first] + (bias ? bias[i] : 0);
              const float off = at_most.of(rows, i, y);
              upper[i] = y + off;
              most = y - off > most ? y - off : most;
            }
          }
          least[group] = most;
        }
      });
  return kth_largest(groups, least.data(), top);
}

}  // namespace

extern const RoundedRowsKernels rounded_rows = {round, bracket};

}  // namespace tape::kernels::TAPE_LEVEL
