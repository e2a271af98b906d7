#pragma once

// Loops over a Broadcast plan: rows of the innermost dimension, with the strides of the operands known to the compiler
// in the cases that matter (neighbouring, or one value repeated).

#include "../runtime/level.h"
#include "broadcast.h"

namespace tape::kernels::TAPE_LEVEL {

/// Neighbouring rows of the innermost dimension: where the first one begins in each operand and in the output (whose
/// rows lie one behind the other), and how far the next one is.
struct Rows {
  int64_t operand[3], next[3];
  int64_t out;
  int64_t rows, count;
};

/// visit(Rows) for all rows of the innermost dimension; long rows are visited one by one, in several parts.
template <class Visit>
TAPE_INLINE void for_rows(const Broadcast& plan, const Visit& visit) {
  const int inner = plan.rank - 1, middle = plan.rank - 2;
  const int64_t row = plan.rank > 0 ? plan.sizes[inner] : 1;
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= plan.sizes[d];
  if (row == 0 || rows == 0) return;
  const int64_t parts = divide_up(row, kChunk);
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

/// out[r, i] = f(a[r, i], b[r, i]) for some rows, the elements of a row step_a and step_b apart. out is the output's
/// first element, a and b the operands'.
template <class A, class Out>
using PairLoop = void (*)(const Rows& rows, const A* a, int64_t step_a, const A* b, int64_t step_b, Out* out);

/// The loop of a function without state, such as a lambda that captures nothing.
template <class A, class Out, class F>
void pair_loop(const Rows& rows, const A* a, int64_t step_a, const A* b, int64_t step_b, Out* out) {
  const F f = F();
  const int64_t n = rows.count, next_a = rows.next[0], next_b = rows.next[1];
  a += rows.operand[0];
  b += rows.operand[1];
  out += rows.out;
  // out may be a or b themselves: each element is read before the same element is written.
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

/// out = f(a, b), broadcast, by the loop of f. Not one copy a function: that would compile the walk over the plan, on
/// one and on several threads, once a function.
template <class A, class Out>
TAPE_APART void for_pairs(const Broadcast& plan, const A* a, const A* b, Out* out, PairLoop<A, Out> loop) {
  const int inner = plan.rank - 1;
  const int64_t step_a = inner < 0 ? 1 : plan.strides[0][inner], step_b = inner < 0 ? 1 : plan.strides[1][inner];
  for_rows(plan, [&](const Rows& rows) { loop(rows, a, step_a, b, step_b, out); });
}

}  // namespace tape::kernels::TAPE_LEVEL
