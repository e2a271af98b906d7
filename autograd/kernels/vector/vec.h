#pragma once

// Vectors of one level's width (GCC vector extensions), their loads and stores, and reductions across lanes. A loop
// over whole vectors ends with one masked step, so that every element has the same bits at any position.

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "../runtime/level.h"

#if defined(__AVX512F__)
#define TAPE_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define TAPE_VECTOR_BYTES 32
#else
#define TAPE_VECTOR_BYTES 16
#endif

namespace tape::kernels::TAPE_LEVEL {

typedef float F32 __attribute__((vector_size(TAPE_VECTOR_BYTES)));
typedef double F64 __attribute__((vector_size(TAPE_VECTOR_BYTES)));
typedef int32_t I32 __attribute__((vector_size(TAPE_VECTOR_BYTES)));
typedef int64_t I64 __attribute__((vector_size(TAPE_VECTOR_BYTES)));
typedef uint32_t U32 __attribute__((vector_size(TAPE_VECTOR_BYTES)));
typedef float F32Half __attribute__((vector_size(TAPE_VECTOR_BYTES / 2)));
/// A vector of doubles with half as many lanes as F32; half an F32 converts to and from it.
static_assert(sizeof(F32Half) * 2 == sizeof(F64));

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = F32;
  using Mask = I32;
};
template <>
struct VectorOf<double> {
  using Type = F64;
  using Mask = I64;
};
template <class T>
using Vec = typename VectorOf<T>::Type;
template <class T>
using Mask = typename VectorOf<T>::Mask;
template <class T>
inline constexpr int kLanes = TAPE_VECTOR_BYTES / static_cast<int>(sizeof(T));

inline constexpr float kInfinity = __builtin_inff();

template <class T>
TAPE_INLINE Vec<T> fill(T value) {
  return Vec<T>{} + value;
}

template <class T>
TAPE_INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
template <class T>
TAPE_INLINE void store(T* p, Vec<T> v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

#if defined(__AVX512F__)
TAPE_INLINE F32 load_first(const float* p, int64_t n) {
  return (F32)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << n) - 1), p);
}
TAPE_INLINE F64 load_first(const double* p, int64_t n) {
  return (F64)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << n) - 1), p);
}
TAPE_INLINE void store_first(float* p, F32 v, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << n) - 1), (__m512)v);
}
TAPE_INLINE void store_first(double* p, F64 v, int64_t n) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1), (__m512d)v);
}
TAPE_INLINE I32 lane_numbers(float) { return I32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
TAPE_INLINE I64 lane_numbers(double) { return I64{0, 1, 2, 3, 4, 5, 6, 7}; }
#elif defined(__AVX2__)
TAPE_INLINE I32 lane_numbers(float) { return I32{0, 1, 2, 3, 4, 5, 6, 7}; }
TAPE_INLINE I64 lane_numbers(double) { return I64{0, 1, 2, 3}; }
TAPE_INLINE F32 load_first(const float* p, int64_t n) {
  return (F32)_mm256_maskload_ps(p, (__m256i)(lane_numbers(0.0F) < static_cast<int32_t>(n)));
}
TAPE_INLINE F64 load_first(const double* p, int64_t n) {
  return (F64)_mm256_maskload_pd(p, (__m256i)(lane_numbers(0.0) < n));
}
TAPE_INLINE void store_first(float* p, F32 v, int64_t n) {
  _mm256_maskstore_ps(p, (__m256i)(lane_numbers(0.0F) < static_cast<int32_t>(n)), (__m256)v);
}
TAPE_INLINE void store_first(double* p, F64 v, int64_t n) {
  _mm256_maskstore_pd(p, (__m256i)(lane_numbers(0.0) < n), (__m256d)v);
}
#else
TAPE_INLINE I32 lane_numbers(float) { return I32{0, 1, 2, 3}; }
TAPE_INLINE I64 lane_numbers(double) { return I64{0, 1}; }
TAPE_INLINE F32 load_first(const float* p, int64_t n) {
  return F32{p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}
TAPE_INLINE F64 load_first(const double* p, int64_t n) { return F64{p[0], n > 1 ? p[1] : 0}; }
template <class T>
TAPE_INLINE void store_first(T* p, Vec<T> v, int64_t n) {
  for (int i = 0; i < kLanes<T>; ++i)
    if (i < n) p[i] = v[i];
}
#endif

/// Loads the first n >= 1 lanes and fills the others with `rest`.
template <class T>
TAPE_INLINE Vec<T> load_first(const T* p, int64_t n, T rest) {
  using Whole = __typeof__(lane_numbers(T())[0]);
  return lane_numbers(T()) < static_cast<Whole>(n) ? load_first(p, n) : fill(rest);
}

template <class T>
TAPE_INLINE Vec<T> load_first_or_all(const T* p, int64_t n, T rest) {
  return n >= kLanes<T> ? load(p) : load_first(p, n, rest);
}
template <class T>
TAPE_INLINE void store_first_or_all(T* p, Vec<T> v, int64_t n) {
  if (n >= kLanes<T>)
    store(p, v);
  else
    store_first(p, v, n);
}

/// y[i] = f(x[i]) over whole vectors, then one masked step.
template <class T, class F>
TAPE_INLINE void map_vectors(int64_t n, const T* x, T* y, const F& f) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(y + i, f(load(x + i)));
  if (i < n) store_first(y + i, f(load_first(x + i, n - i)), n - i);
}

TAPE_INLINE F64 low_half(F32 v) {
  F32Half half;
  __builtin_memcpy(&half, &v, sizeof(half));
  return __builtin_convertvector(half, F64);
}
TAPE_INLINE F64 high_half(F32 v) {
  F32Half half;
  __builtin_memcpy(&half, reinterpret_cast<const char*>(&v) + sizeof(half), sizeof(half));
  return __builtin_convertvector(half, F64);
}
TAPE_INLINE F32 join_halves(F64 low, F64 high) {
  const F32Half a = __builtin_convertvector(low, F32Half), b = __builtin_convertvector(high, F32Half);
  F32 v;
  __builtin_memcpy(&v, &a, sizeof(a));
  __builtin_memcpy(reinterpret_cast<char*>(&v) + sizeof(a), &b, sizeof(b));
  return v;
}

struct Add {
  TAPE_MEMBER auto operator()(auto a, auto b) const { return a + b; }
};
/// Propagates a NaN on the left but not one on the right.
struct Larger {
  TAPE_MEMBER auto operator()(auto a, auto b) const { return b > a ? b : a; }
};

/// Reduces all lanes to one value by folding halves.
template <class Op>
TAPE_INLINE float fold(F32 v, Op op) {
  typedef float F4 __attribute__((vector_size(16)));
#if defined(__AVX512F__)
  typedef float F8 __attribute__((vector_size(32)));
  const F8 eight = op(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                      __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
  F4 four = op(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
#elif defined(__AVX2__)
  F4 four = op(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7));
#else
  F4 four = v;
#endif
  four = op(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
  four = op(four, __builtin_shufflevector(four, four, 1, 0, 3, 2));
  return four[0];
}
template <class Op>
TAPE_INLINE double fold(F64 v, Op op) {
  typedef double D2 __attribute__((vector_size(16)));
#if defined(__AVX512F__)
  typedef double D4 __attribute__((vector_size(32)));
  const D4 four = op(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7));
  D2 two = op(__builtin_shufflevector(four, four, 0, 1), __builtin_shufflevector(four, four, 2, 3));
#elif defined(__AVX2__)
  D2 two = op(__builtin_shufflevector(v, v, 0, 1), __builtin_shufflevector(v, v, 2, 3));
#else
  D2 two = v;
#endif
  two = op(two, __builtin_shufflevector(two, two, 1, 0));
  return two[0];
}

/// The sums over the lanes of four vectors.
TAPE_INLINE void fold_four(const F32 (&v)[4], float* to) {
  typedef float Four __attribute__((vector_size(16)));
  Four part[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
    typedef float Eight __attribute__((vector_size(32)));
    const Eight eight = __builtin_shufflevector(v[i], v[i], 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(v[i], v[i], 8, 9, 10, 11, 12, 13, 14, 15);
    part[i] = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#elif defined(__AVX2__)
    part[i] = __builtin_shufflevector(v[i], v[i], 0, 1, 2, 3) + __builtin_shufflevector(v[i], v[i], 4, 5, 6, 7);
#else
    part[i] = v[i];
#endif
  }
  const Four a = __builtin_shufflevector(part[0], part[1], 0, 4, 2, 6) +
                 __builtin_shufflevector(part[0], part[1], 1, 5, 3, 7),
             b = __builtin_shufflevector(part[2], part[3], 0, 4, 2, 6) +
                 __builtin_shufflevector(part[2], part[3], 1, 5, 3, 7);
  const Four sums = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  __builtin_memcpy(to, &sums, sizeof(sums));
}
TAPE_INLINE void fold_four(const F64 (&v)[4], double* to) {
  for (int i = 0; i < 4; ++i) to[i] = fold(v[i], Add());
}

}  // namespace tape::kernels::TAPE_LEVEL
