#include "autograd/kernels/elementwise.h"

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
      return pair_loop_of<T, T>([](T x, T y) { return (x > y) | (x != x) ? x : y; });
    case Binary::minimum:
      break;
  }
  return pair_loop_of<T, T>([](T x, T y) { return (x < y) | (x != x) ? x : y; });
}

template <class T>
void binary(Binary op, const Broadcast& plan, const T* a, const T* b, T* out) {
  for_pairs(plan, a, b, out, binary_loop<T>(op));
}

template <class T>
void compare(Compare op, const Broadcast& plan, const T* a, const T* b, bool* out) {
  for_pairs(plan, a, b, out, compare_loop<T>(op));
}

/// c ? a : b of the bits: a choice that the compiler must not make a branch of, for conditions are hard to predict.
TAPE_INLINE float choice(bool c, float a, float b) {
  const uint32_t mask = -uint32_t{c};
  return __builtin_bit_cast(float,
                            (__builtin_bit_cast(uint32_t, a) & mask) | (__builtin_bit_cast(uint32_t, b) & ~mask));
}
TAPE_INLINE double choice(bool c, double a, double b) {
  const uint64_t mask = -uint64_t{c};
  return __builtin_bit_cast(double,
                            (__builtin_bit_cast(uint64_t, a) & mask) | (__builtin_bit_cast(uint64_t, b) & ~mask));
}

/// One row: to[i] = c[i] ? a[i] : b[i].
template <class T>
TAPE_INLINE void choose(int64_t n, const bool* c, int64_t step_c, const T* a, int64_t step_a, const T* b,
                        int64_t step_b, T* to) {
  if (step_c == 1 && step_a == 1 && step_b == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = choice(c[i], a[i], b[i]);
  } else if (step_c == 1 && step_a == 1 && step_b == 0) {
    const T repeated = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = choice(c[i], a[i], repeated);
  } else if (step_c == 1 && step_a == 0 && step_b == 1) {
    const T repeated = *a;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = choice(c[i], repeated, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = c[i * step_c] ? a[i * step_a] : b[i * step_b];
  }
}

template <class T>
void where(const Broadcast& plan, const bool* c, const T* a, const T* b, T* out) {
  const int inner = plan.rank - 1;
  const int64_t step_a = inner < 0 ? 0 : plan.strides[0][inner], step_b = inner < 0 ? 0 : plan.strides[1][inner];
  const int64_t step_c = inner < 0 ? 0 : plan.strides[2][inner];
  for_rows(plan, [&](const Rows& o) {
    for (int64_t r = 0; r < o.rows; ++r)
      choose(o.count, c + o.operand[2] + r * o.next[2], step_c, a + o.operand[0] + r * o.next[0], step_a,
             b + o.operand[1] + r * o.next[1], step_b, out + o.out + r * o.count);
  });
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
                                          .where = where<T>,
                                          .affine = affine<T>,
                                          .pow_scalar = pow_scalar<T>,
                                          .accumulate = accumulate<T>};
}  // namespace

extern const ElementwiseKernels<float> elementwise_f32 = kTable<float>;
extern const ElementwiseKernels<double> elementwise_f64 = kTable<double>;

}  // namespace tape::kernels::TAPE_LEVEL
