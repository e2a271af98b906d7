#pragma once

// Loops over a Broadcast: rows of the innermost axis, specialized at compile time for the important strides
// (contiguous, or one repeated value).

#include "../runtime/level.h"
#include "broadcast.h"

namespace tape::kernels::TAPE_LEVEL {

/// Consecutive rows of the innermost axis: offset of the first in each operand and in the output (whose rows are
/// contiguous), and the distance to the next.
struct Rows {
  int64_t operand[3], next[3];
  int64_t out;
  int64_t rows, count;
};

/// Calls visit(Rows) for all rows of the innermost axis; long rows are visited one by one, in several parts.
template <class Visit>
TAPE_INLINE void for_rows(const Broadcast& plan, const Visit& visit) {
  const int inner = plan.rank - 1, middle = plan.rank - 2;
  const int64_t row = plan.rank > 0 ? plan.sizes[inner] : 1;
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= plan.sizes[d];
  if (row == 0 || rows == 0) return;
  const int64_t parts = ceil_div(row, kChunk);
  for_chunks(rows * parts, smaller(row, kChunk), [&](int64_t begin, int64_t end) {
    int64_t at[kMaxRank] = {};
    int64_t rest = begin / parts, part = begin % parts;
    Rows base = {.operand = {}, .next = {}, .out = rest * row, .rows = 1, .count = 0};
    for (int d = middle; d >= 0; --d) {
      at[d] = rest % plan.sizes[d];
      rest /= plan.sizes[d];
      for (int k = 0; k < 3; ++k) base.operand[k] += at[d] * plan.strides[k][d];
    }
    for (int k = 0; k < 3; ++k) base.next[k] = middle < 0 ? 0 : plan.strides[k][middle];
    for (int64_t i = begin; i < end;) {
      const int64_t first = part * kChunk;
      Rows here = base;
      for (int k = 0; k < 3; ++k)
        if (plan.rank > 0) here.operand[k] += first * plan.strides[k][inner];
      here.out += first;
      here.count = smaller(kChunk, row - first);
      if (middle >= 0 && parts == 1) here.rows = smaller(end - i, plan.sizes[middle] - at[middle]);
      visit(here);
      i += here.rows;
      if (++part < parts) continue;
      part = 0;
      base.out += here.rows * row;
      int64_t step = here.rows;
      for (int d = middle; d >= 0; --d, step = 1) {
        for (int k = 0; k < 3; ++k) base.operand[k] += step * plan.strides[k][d];
        at[d] += step;
        if (at[d] < plan.sizes[d]) break;
        at[d] = 0;
        for (int k = 0; k < 3; ++k) base.operand[k] -= plan.sizes[d] * plan.strides[k][d];
      }
    }
  });
}

/// out[r, i] = f(a[r, i], b[r, i]) for some rows, with elements of a row step_a and step_b apart. out, a and b point to
/// the first element of the whole tensors.
template <class A, class Out>
using PairLoop = void (*)(const Rows& rows, const A* a, int64_t step_a, const A* b, int64_t step_b, Out* out);

/// The row loop of a stateless function, such as a lambda without captures.
template <class A, class Out, class F>
void pair_loop(const Rows& rows, const A* a, int64_t step_a, const A* b, int64_t step_b, Out* out) {
  const F f = F();
  const int64_t n = rows.count, next_a = rows.next[0], next_b = rows.next[1];
  a += rows.operand[0];
  b += rows.operand[1];
  out += rows.out;
  // out may be a or b: each element is read before it is written.
  if (step_a == 1 && step_b == 1) {
    for (int64_t r = 0; r < rows.rows; ++r, a += next_a, b += next_b, out += n) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
    }
  } else if (step_a == 1 && step_b == 0) {
    for (int64_t r = 0; r < rows.rows; ++r, a += next_a, b += next_b, out += n) {
      const A repeated = *b;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], repeated);
    }
  } else if (step_a == 0 && step_b == 1) {
    for (int64_t r = 0; r < rows.rows; ++r, a += next_a, b += next_b, out += n) {
      const A repeated = *a;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) out[i] = f(repeated, b[i]);
    }
  } else {
    for (int64_t r = 0; r < rows.rows; ++r, a += next_a, b += next_b, out += n)
      for (int64_t i = 0; i < n; ++i) out[i] = f(a[i * step_a], b[i * step_b]);
  }
}
template <class A, class Out, class F>
constexpr PairLoop<A, Out> pair_loop_of(F) {
  return pair_loop<A, Out, F>;
}

/// out = f(a, b), broadcast, with the row loop of f. Not a template on f, so that the traversal, single- and
/// multi-threaded, is compiled only once.
template <class A, class Out>
TAPE_APART void for_pairs(const Broadcast& plan, const A* a, const A* b, Out* out, PairLoop<A, Out> loop) {
  const int inner = plan.rank - 1;
  const int64_t step_a = inner < 0 ? 1 : plan.strides[0][inner], step_b = inner < 0 ? 1 : plan.strides[1][inner];
  for_rows(plan, [&](const Rows& rows) { loop(rows, a, step_a, b, step_b, out); });
}

}  // namespace tape::kernels::TAPE_LEVEL
