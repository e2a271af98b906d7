#include "autograd/kernels/elementwise.h"

#include "autograd/kernels/choice_loop.h"
#include "autograd/kernels/compare_loop.h"
#include "autograd/kernels/unary.h"
#include "autograd/kernels/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

TAPE_INLINE float power(float a, float b) { return __builtin_powf(a, b); }
TAPE_INLINE double power(double a, double b) { return __builtin_pow(a, b); }

template <class T>
PairLoop<T, T> binary_loop(Binary op) {
  switch (op) {
    case Binary::add:
      return pair_loop_of<T, T>([](T x, T y) { return x + y; });
    case Binary::sub:
      return pair_loop_of<T, T>([](T x, T y) { return x - y; });
    case Binary::mul:
      return pair_loop_of<T, T>([](T x, T y) { return x * y; });
    case Binary::div:
      return pair_loop_of<T, T>([](T x, T y) { return x / y; });
    case Binary::pow:
      return pair_loop_of<T, T>([](T x, T y) { return power(x, y); });
    // A NaN on either side is the result.
    case Binary::maximum:
      return pair_loop_of<T, T>([](T x, T y) { return ((x > y) | (x != x)) ? x : y; });
    case Binary::minimum:
      break;
  }
  return pair_loop_of<T, T>([](T x, T y) { return ((x < y) | (x != x)) ? x : y; });
}

template <class T>
void binary(Binary op, const Broadcast& plan, const T* a, const T* b, T* out) {
  for_pairs(plan, a, b, out, binary_loop<T>(op));
}

template <class T>
void compare(Compare op, const Broadcast& plan, const T* a, const T* b, bool* out) {
  for_pairs(plan, a, b, out, compare_loop<T>(op));
}

template <class T>
void affine(int64_t n, const T* x, T scale, T shift, T* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    map_vectors(end - begin, x + begin, y + begin, [&](Vec<T> v) { return v * scale + shift; });
  });
}

template <class T>
void pow_scalar(int64_t n, const T* x, T exponent, T* y) {
  if (exponent == T(1)) return affine(n, x, T(1), T(-0.0), y);  // -0 + -0 is -0
  if (exponent == T(2)) return unary.square.loops<T>().forward(n, x, y);
  if (exponent == T(-1)) return unary.reciprocal.loops<T>().forward(n, x, y);
  if (exponent == T(0.5)) return unary.sqrt.loops<T>().forward(n, x, y);
  if (exponent == T(-0.5)) return unary.rsqrt.loops<T>().forward(n, x, y);
  const bool cube = exponent == T(3);
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    if (cube)
      map_vectors(end - begin, x + begin, y + begin, [](Vec<T> v) { return v * v * v; });
    else
      for (int64_t i = begin; i < end; ++i) y[i] = power(x[i], exponent);
  });
}

template <class T>
void accumulate(int64_t n, const T* x, T scale, T* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] += x[i] * scale;
  });
}

template <class T>
constexpr ElementwiseKernels<T> kTable = {.binary = binary<T>,
                                          .compare = compare<T>,
                                          .where = where_loop<T>,
                                          .affine = affine<T>,
                                          .pow_scalar = pow_scalar<T>,
                                          .accumulate = accumulate<T>};
}  // namespace

extern const ElementwiseKernels<float> elementwise_f32 = kTable<float>;
extern const ElementwiseKernels<double> elementwise_f64 = kTable<double>;

}  // namespace tape::kernels::TAPE_LEVEL
