// Kernels of IntegerKernels (autograd/kernels/elementwise/common/integer_ops.h).
#include "autograd/cuda/kernels/strided.h"

using tape::kernels::Broadcast;

namespace {

// Overflow wraps, because these are computed unsigned.
__device__ int64_t sum_of(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
__device__ int64_t difference_of(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
__device__ int64_t product_of(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

/// x^y by squaring. A negative power is exact for 1 and -1, and 0 for any other base.
__device__ int64_t power_of(int64_t x, int64_t y) {
  if (y < 0) return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;
  int64_t result = 1;
  for (; y > 0; y /= 2) {
    if (y % 2 == 1) result = product_of(result, x);
    x = product_of(x, x);
  }
  return result;
}

/// The remainder with the sign of y; 0 for y = 0, which the caller has refused and is reported later.
__device__ int64_t remainder_of(int64_t x, int64_t y) {
  const int64_t rest = y == -1 || y == 0 ? 0 : x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// The first maximum or minimum over the middle axis of x [outer, size, inner]; index may be null.
__device__ void integer_best(int64_t outer, int64_t size, int64_t inner, bool largest, const int64_t* x, int64_t* y,
                             int64_t* index) {
  for (int64_t i = thread_of_grid(); i < outer * inner; i += threads_of_grid()) {
    const int64_t* from = x + i / inner * size * inner + i % inner;
    int64_t best = *from, at = 0;
    for (int64_t s = 1; s < size; ++s) {
      const int64_t value = from[s * inner];
      if (largest ? value > best : value < best) {
        best = value;
        at = s;
      }
    }
    y[i] = best;
    if (index) index[i] = at;
  }
}

/// y = the sum or the product over the middle axis of x [outer, size, inner].
__device__ void integer_fold(int64_t outer, int64_t size, int64_t inner, bool product, const int64_t* x, int64_t* y) {
  for (int64_t i = thread_of_grid(); i < outer * inner; i += threads_of_grid()) {
    const int64_t* from = x + i / inner * size * inner + i % inner;
    int64_t result = product ? 1 : 0;
    for (int64_t s = 0; s < size; ++s)
      result = product ? product_of(result, from[s * inner]) : sum_of(result, from[s * inner]);
    y[i] = result;
  }
}

/// y = whether any value along the middle axis of x [outer, size, inner] is true.
__device__ void any_true(int64_t outer, int64_t size, int64_t inner, const bool* x, bool* y) {
  for (int64_t i = thread_of_grid(); i < outer * inner; i += threads_of_grid()) {
    const bool* from = x + i / inner * size * inner + i % inner;
    bool any = false;
    for (int64_t s = 0; s < size && !any; ++s) any = from[s * inner];
    y[i] = any;
  }
}

}  // namespace

/// out = expression of x = a and y = b, broadcast.
#define TAPE_PAIRS(name, Out, expression)                                                                      \
  namespace {                                                                                                  \
  __device__ void name(int64_t n, int64_t row, Broadcast plan, const int64_t* a, const int64_t* b, Out* out) { \
    for_pairs(n, row, plan, a, b, out, [](int64_t x, int64_t y) -> Out { return expression; });                \
  }                                                                                                            \
  }                                                                                                            \
  TAPE_EXPORT_AS(name##_i64, name,                                                                             \
                 (int64_t n, int64_t row, Broadcast plan, const int64_t* a, const int64_t* b, Out* out),       \
                 (n, row, plan, a, b, out))
TAPE_PAIRS(binary_add, int64_t, sum_of(x, y))
TAPE_PAIRS(binary_sub, int64_t, difference_of(x, y))
TAPE_PAIRS(binary_mul, int64_t, product_of(x, y))
TAPE_PAIRS(binary_div, int64_t, y == -1 ? difference_of(0, x) : x / y)  // INT64_MIN / -1 wraps
TAPE_PAIRS(binary_pow, int64_t, power_of(x, y))
TAPE_PAIRS(binary_maximum, int64_t, x > y ? x : y)
TAPE_PAIRS(binary_minimum, int64_t, x < y ? x : y)
TAPE_PAIRS(binary_remainder, int64_t, remainder_of(x, y))
TAPE_PAIRS(compare_eq, bool, x == y)
TAPE_PAIRS(compare_ne, bool, x != y)
TAPE_PAIRS(compare_lt, bool, x < y)
TAPE_PAIRS(compare_le, bool, x <= y)
TAPE_PAIRS(compare_gt, bool, x > y)
TAPE_PAIRS(compare_ge, bool, x >= y)

TAPE_EXPORT_ONE(integer_best,
                (int64_t outer, int64_t size, int64_t inner, bool largest, const int64_t* x, int64_t* y,
                 int64_t* index),
                (outer, size, inner, largest, x, y, index))
TAPE_EXPORT_ONE(integer_fold, (int64_t outer, int64_t size, int64_t inner, bool product, const int64_t* x, int64_t* y),
                (outer, size, inner, product, x, y))
TAPE_EXPORT_ONE(any_true, (int64_t outer, int64_t size, int64_t inner, const bool* x, bool* y),
                (outer, size, inner, x, y))
