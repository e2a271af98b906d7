#pragma once

// out = c ? a : b, broadcast, for elements of any type.

#include <type_traits>

#include "broadcast_loops.h"

namespace tape::kernels::TAPE_LEVEL {

template <class E>
using BitsOf = std::conditional_t<
    sizeof(E) == 1, uint8_t,
    std::conditional_t<sizeof(E) == 2, uint16_t, std::conditional_t<sizeof(E) == 4, uint32_t, uint64_t>>>;

/// c ? a : b as bits, c 0 or 1. Bit operations keep the compiler from emitting a branch, which would be hard to
/// predict; c is a byte, since there are no vectors of bools.
template <class E>
TAPE_INLINE E select_bits(unsigned char c, E a, E b) {
  using Bits = BitsOf<E>;
  const Bits mask = static_cast<Bits>(-static_cast<Bits>(c));
  return __builtin_bit_cast(
      E, static_cast<Bits>((__builtin_bit_cast(Bits, a) & mask) | (__builtin_bit_cast(Bits, b) & ~mask)));
}

/// One row: to[i] = c[i] ? a[i] : b[i].
template <class E>
TAPE_INLINE void select_row(int64_t n, const unsigned char* c, int64_t step_c, const E* a, int64_t step_a, const E* b,
                            int64_t step_b, E* to) {
  if (step_c == 1 && step_a == 1 && step_b == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = select_bits(c[i], a[i], b[i]);
  } else if (step_c == 1 && step_a == 1 && step_b == 0) {
    const E repeated = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = select_bits(c[i], a[i], repeated);
  } else if (step_c == 1 && step_a == 0 && step_b == 1) {
    const E repeated = *a;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = select_bits(c[i], repeated, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = c[i * step_c] ? a[i * step_a] : b[i * step_b];
  }
}

/// strides[0] and [1] are those of a and b, strides[2] those of the condition.
template <class E>
void where_loop(const Broadcast& plan, const bool* c, const E* a, const E* b, E* out) {
  const int inner = plan.rank - 1;
  const int64_t step_a = inner < 0 ? 0 : plan.strides[0][inner], step_b = inner < 0 ? 0 : plan.strides[1][inner];
  const int64_t step_c = inner < 0 ? 0 : plan.strides[2][inner];
  const auto* bytes = reinterpret_cast<const unsigned char*>(c);
  for_rows(plan, [&](const Rows& o) {
    for (int64_t r = 0; r < o.rows; ++r)
      select_row(o.count, bytes + o.operand[2] + r * o.next[2], step_c, a + o.operand[0] + r * o.next[0], step_a,
                 b + o.operand[1] + r * o.next[1], step_b, out + o.out + r * o.count);
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
