// Kernels of ElementwiseKernels (autograd/kernels/elementwise/elementwise.h).
#include "autograd/cuda/kernels/strided.h"

using tape::kernels::Broadcast;

namespace {

/// x - y floor(x / y), exactly, with the sign of y.
template <class T>
__device__ T remainder_of(T x, T y) {
  const T rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// pow(x, exponent), with exact special cases.
template <class T>
__device__ T power_of(T x, T exponent) {
  if (exponent == T(1)) return x;
  if (exponent == T(2)) return x * x;
  if (exponent == T(3)) return x * x * x;
  if (exponent == T(-1)) return 1 / x;
  if (exponent == T(0.5)) return sqrt(x);
  if (exponent == T(-0.5)) return 1 / sqrt(x);
  return pow(x, exponent);
}

/// out = a + w (b - a), from the nearer end, which is exact at both ends.
template <class T>
__device__ void lerp(int64_t n, Broadcast plan, const T* a, const T* b, const T* w, T* out) {
  for_broadcast<3>(n, plan, [&](int64_t i, const int64_t(&at)[3]) {
    const T from = a[at[0]], to = b[at[1]], weight = w[at[2]];
    out[i] = weight < T(0.5) ? from + weight * (to - from) : to - (to - from) * (1 - weight);
  });
}

template <class T>
__device__ void affine(int64_t n, const T* x, Compute<T> scale, Compute<T> shift, T* y) {
  map_values(n, x, y, [=](T value) { return narrowed<T>(widened(value) * scale + shift); });
}

template <class T>
__device__ void pow_scalar(int64_t n, const T* x, T exponent, T* y) {
  map_values(n, x, y, [=](T value) { return power_of(value, exponent); });
}

template <class T>
__device__ void scale_by(int64_t n, const T* x, const Compute<T>* factor, T* y) {
  const Compute<T> scale = *factor;
  map_values(n, x, y, [=](T value) { return narrowed<T>(widened(value) * scale); });
}

template <class T>
__device__ void accumulate(int64_t n, const T* x, Compute<T> scale, T* y) {
  map_pairs(n, x, y, y, [=](T value, T sum) { return narrowed<T>(widened(sum) + widened(value) * scale); });
}

}  // namespace

/// out = expression of x = a and y = b, broadcast.
#define TAPE_PAIRS(name, Out, expression)                                                          \
  namespace {                                                                                      \
  template <class T>                                                                               \
  __device__ void name(int64_t n, int64_t row, Broadcast plan, const T* a, const T* b, Out* out) { \
    for_pairs(n, row, plan, a, b, out, [](T x, T y) -> Out { return expression; });                \
  }                                                                                                \
  }                                                                                                \
  TAPE_EXPORT(name, (int64_t n, int64_t row, Broadcast plan, const T* a, const T* b, Out* out),    \
              (n, row, plan, a, b, out))
/// The same with results of T, for bf16 too.
#define TAPE_PAIRS_WITH_BF16(name, expression)                                                                         \
  TAPE_PAIRS(name, T, expression)                                                                                      \
  namespace {                                                                                                          \
  __device__ void name(int64_t n, int64_t row, Broadcast plan, const bf16* a, const bf16* b, bf16* out) {              \
    for_pairs(n, row, plan, a, b, out, [](bf16 left, bf16 right) {                                                     \
      const float x = to_float(left), y = to_float(right);                                                             \
      return to_bf16(expression);                                                                                      \
    });                                                                                                                \
  }                                                                                                                    \
  }                                                                                                                    \
  TAPE_EXPORT_AS(name##_bf16, name, (int64_t n, int64_t row, Broadcast plan, const bf16* a, const bf16* b, bf16* out), \
                 (n, row, plan, a, b, out))
TAPE_PAIRS_WITH_BF16(binary_add, x + y)
TAPE_PAIRS_WITH_BF16(binary_sub, x - y)
TAPE_PAIRS_WITH_BF16(binary_mul, x* y)
TAPE_PAIRS(binary_div, T, x / y)
TAPE_PAIRS(binary_pow, T, pow(x, y))
// NaN in either operand propagates.
TAPE_PAIRS(binary_maximum, T, x > y || x != x ? x : y)
TAPE_PAIRS(binary_minimum, T, x < y || x != x ? x : y)
TAPE_PAIRS(binary_remainder, T, remainder_of(x, y))
TAPE_PAIRS(binary_atan2, T, atan2(x, y))
TAPE_PAIRS(compare_eq, bool, x == y)
TAPE_PAIRS(compare_ne, bool, x != y)
TAPE_PAIRS(compare_lt, bool, x < y)
TAPE_PAIRS(compare_le, bool, x <= y)
TAPE_PAIRS(compare_gt, bool, x > y)
TAPE_PAIRS(compare_ge, bool, x >= y)

/// out[i] = whether x[i] belongs to a class, an expression of value = x[i].
#define TAPE_CLASS(name, expression)                                    \
  namespace {                                                           \
  template <class T>                                                    \
  __device__ void name(int64_t n, const T* x, bool* out) {              \
    for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) { \
      const T value = x[i];                                             \
      out[i] = expression;                                              \
    }                                                                   \
  }                                                                     \
  }                                                                     \
  TAPE_EXPORT(name, (int64_t n, const T* x, bool* out), (n, x, out))
TAPE_CLASS(classify_finite, value<T(INFINITY) && value> - T(INFINITY))
TAPE_CLASS(classify_infinite, value == T(INFINITY) || value == -T(INFINITY))
TAPE_CLASS(classify_nan, value != value)

TAPE_EXPORT(lerp, (int64_t n, Broadcast plan, const T* a, const T* b, const T* w, T* out), (n, plan, a, b, w, out))
TAPE_EXPORT_WITH_BF16(affine, (int64_t n, const T* x, Compute<T> scale, Compute<T> shift, T* y),
                      (n, x, scale, shift, y))
TAPE_EXPORT(pow_scalar, (int64_t n, const T* x, T exponent, T* y), (n, x, exponent, y))
TAPE_EXPORT_WITH_BF16(scale_by, (int64_t n, const T* x, const Compute<T>* factor, T* y), (n, x, factor, y))
TAPE_EXPORT_WITH_BF16(accumulate, (int64_t n, const T* x, Compute<T> scale, T* y), (n, x, scale, y))
