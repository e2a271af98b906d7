#pragma once

// Loops over a Broadcast plan: rows of the innermost dimension, with the strides of the operands known to the compiler
// in the cases that matter (neighbouring, or one value repeated).

#include "broadcast.h"
#include "level.h"

namespace tape::kernels::TAPE_LEVEL {

struct RowOffsets {
  int64_t operand[3];
  int64_t out;
  int64_t count;
};

/// visit(RowOffsets) for every row of the innermost dimension; long rows are visited in several parts.
template <class Visit>
TAPE_INLINE void for_rows(const Broadcast& plan, const Visit& visit) {
  const int inner = plan.rank - 1;
  const int64_t row = plan.rank > 0 ? plan.sizes[inner] : 1;
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= plan.sizes[d];
  if (row == 0 || rows == 0) return;
  const int64_t parts = divide_up(row, kChunk);
  for_chunks(rows * parts, smaller(row, kChunk), [&](int64_t begin, int64_t end) {
    int64_t at[kMaxRank] = {};
    int64_t rest = begin / parts, part = begin % parts;
    RowOffsets base = {{0, 0, 0}, begin / parts * row, 0};
    for (int d = inner - 1; d >= 0; --d) {
      at[d] = rest % plan.sizes[d];
      rest /= plan.sizes[d];
      for (int k = 0; k < 3; ++k) base.operand[k] += at[d] * plan.strides[k][d];
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = part * kChunk;
      RowOffsets here = base;
      for (int k = 0; k < 3; ++k)
        if (plan.rank > 0) here.operand[k] += first * plan.strides[k][inner];
      here.out += first;
      here.count = smaller(kChunk, row - first);
      visit(here);
      if (++part < parts) continue;
      part = 0;
      base.out += row;
      for (int d = inner - 1; d >= 0; --d) {
        for (int k = 0; k < 3; ++k) base.operand[k] += plan.strides[k][d];
        if (++at[d] < plan.sizes[d]) break;
        at[d] = 0;
        for (int k = 0; k < 3; ++k) base.operand[k] -= plan.sizes[d] * plan.strides[k][d];
      }
    }
  });
}

/// out[i] = f(a[i * step_a], b[i * step_b]) for i < n: one row.
template <class A, class Out>
using PairLoop = void (*)(int64_t n, const A* a, int64_t step_a, const A* b, int64_t step_b, Out* out);

/// The loop of a function without state, such as a lambda that captures nothing.
template <class A, class Out, class F>
void pair_loop(int64_t n, const A* a, int64_t step_a, const A* b, int64_t step_b, Out* out) {
  const F f = F();
  // out may be a or b themselves: each element is read before the same element is written.
  if (step_a == 1 && step_b == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    const A repeated = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], repeated);
  } else if (step_a == 0 && step_b == 1) {
    const A repeated = *a;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = f(repeated, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i * step_a], b[i * step_b]);
  }
}
template <class A, class Out, class F>
constexpr PairLoop<A, Out> pair_loop_of(F) {
  return pair_loop<A, Out, F>;
}

/// out = f(a, b), broadcast, by the loop of f. Not one copy a function: walking the plan on several threads is a
/// hundred times the code of a row.
template <class A, class Out>
__attribute__((noinline, noclone)) void for_pairs(const Broadcast& plan, const A* a, const A* b, Out* out,
                                                  PairLoop<A, Out> loop) {
  const int inner = plan.rank - 1;
  const int64_t step_a = inner < 0 ? 1 : plan.strides[0][inner], step_b = inner < 0 ? 1 : plan.strides[1][inner];
  for_rows(plan, [&](const RowOffsets& o) {
    loop(o.count, a + o.operand[0], step_a, b + o.operand[1], step_b, out + o.out);
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
