#include "autograd/kernels/elementwise/elementwise.h"

#include "autograd/kernels/elementwise/compare_loop.h"
#include "autograd/kernels/elementwise/select_loop.h"
#include "autograd/kernels/elementwise/unary.h"
#include "autograd/kernels/vector/inverse_sine.h"
#include "autograd/kernels/vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

TAPE_INLINE float power(float a, float b) { return __builtin_powf(a, b); }
TAPE_INLINE double power(double a, double b) { return __builtin_pow(a, b); }

/// a - b floor(a / b), exactly.
template <class T>
T remainder(T a, T b) {
  const T rest = sizeof(T) == sizeof(float)
                     ? static_cast<T>(__builtin_fmodf(static_cast<float>(a), static_cast<float>(b)))
                     : static_cast<T>(__builtin_fmod(static_cast<double>(a), static_cast<double>(b)));
  return ((rest != 0) & ((rest < 0) != (b < 0))) ? rest + b : rest;
}
/// The same in double, where the quotient and its product with b are exact: |a| < 2^28 |b|, and b is finite.
TAPE_INLINE float near_remainder(float a, float b) {
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  return static_cast<float>(x - __builtin_floor(x / y) * y);
}
TAPE_INLINE bool is_far(float a, float b) {
  return !(__builtin_fabsf(a) < 268435456.0F * __builtin_fabsf(b)) | (__builtin_fabsf(b) == kInfinity);
}
TAPE_INLINE double near_remainder(double a, double b) { return remainder(a, b); }
TAPE_INLINE bool is_far(double, double) { return false; }

template <class T>
void remainder_loop(const Rows& rows, const T* a, int64_t step_a, const T* b, int64_t step_b, T* out) {
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* x = a + rows.operand[0] + r * rows.next[0];
    const T* y = b + rows.operand[1] + r * rows.next[1];
    T* to = out + rows.out + r * rows.count;
    int far = 0;
#pragma omp simd reduction(| : far)
    for (int64_t i = 0; i < rows.count; ++i) far |= is_far(x[i * step_a], y[i * step_b]) ? 1 : 0;
    if (far) {
      for (int64_t i = 0; i < rows.count; ++i) to[i] = remainder(x[i * step_a], y[i * step_b]);
    } else {
#pragma omp simd
      for (int64_t i = 0; i < rows.count; ++i) to[i] = near_remainder(x[i * step_a], y[i * step_b]);
    }
  }
}

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
    // NaN in either operand propagates.
    case Binary::maximum:
      return pair_loop_of<T, T>([](T x, T y) { return ((x > y) | (x != x)) ? x : y; });
    case Binary::remainder:
      return remainder_loop<T>;
    case Binary::atan2:
      return pair_loop_of<T, T>([](T x, T y) { return atan2(x, y); });
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

/// Interpolates from the nearer end, as PyTorch does, which is exact at both ends.
template <class T>
TAPE_INLINE T between(T a, T b, T w) {
  return w < T(0.5) ? a + w * (b - a) : b - (b - a) * (1 - w);
}

template <class T>
void lerp(const Broadcast& plan, const T* a, const T* b, const T* w, T* out) {
  const int inner = plan.rank - 1;
  int64_t step[3] = {};
  for (int k = 0; k < 3 && inner >= 0; ++k) step[k] = plan.strides[k][inner];
  for_rows(plan, [&](const Rows& o) {
    for (int64_t r = 0; r < o.rows; ++r) {
      const T* x = a + o.operand[0] + r * o.next[0];
      const T* y = b + o.operand[1] + r * o.next[1];
      const T* weight = w + o.operand[2] + r * o.next[2];
      T* to = out + o.out + r * o.count;
      if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
        const T repeated = *weight;
#pragma omp simd
        for (int64_t i = 0; i < o.count; ++i) to[i] = between(x[i], y[i], repeated);
      } else if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
#pragma omp simd
        for (int64_t i = 0; i < o.count; ++i) to[i] = between(x[i], y[i], weight[i]);
      } else {
        for (int64_t i = 0; i < o.count; ++i) to[i] = between(x[i * step[0]], y[i * step[1]], weight[i * step[2]]);
      }
    }
  });
}

template <class T>
void classify(Class kind, int64_t n, const T* x, bool* out) {
  const T infinity = static_cast<T>(kInfinity);
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    const auto write = [&](auto is_one) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) out[i] = is_one(x[i]);
    };
    if (kind == Class::nan) {
      write([](T value) { return value != value; });
    } else if (kind == Class::infinite) {
      write([=](T value) { return (value == infinity) | (value == -infinity); });
    } else {
      write([=](T value) { return (value < infinity) & (value > -infinity); });
    }
  });
}

template <class T>
void affine(int64_t n, const T* x, double scale, double shift, T* y) {
  const T factor = static_cast<T>(scale), term = static_cast<T>(shift);
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    map_vectors(end - begin, x + begin, y + begin, [&](Vec<T> v) { return v * factor + term; });
  });
}

template <class T>
void pow_scalar(int64_t n, const T* x, double power_of, T* y) {
  const T exponent = static_cast<T>(power_of);
  if (exponent == T(1)) return affine(n, x, 1, -0.0, y);  // preserves -0, since -0 + -0 is -0
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
void scale_by(int64_t n, const T* x, const T* factor, T* y) {
  // Usual for the gradient of a loss: a pass over a large gradient would be wasted.
  if (*factor == 1 && y == x) return;
  affine(n, x, static_cast<double>(*factor), 0, y);
}

template <class T>
void accumulate(int64_t n, const T* x, double scale, T* y) {
  const T factor = static_cast<T>(scale);
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] += x[i] * factor;
  });
}
}  // namespace

TAPE_DEFINE_TABLES(ElementwiseKernels, elementwise, .binary = binary<T>, .compare = compare<T>, .where = where_loop<T>,
                   .lerp = lerp<T>, .classify = classify<T>, .affine = affine<T>, .pow_scalar = pow_scalar<T>,
                   .scale_by = scale_by<T>, .accumulate = accumulate<T>)

}  // namespace tape::kernels::TAPE_LEVEL
