#pragma once

// What the kernels of matrix products share.

#include "../../../base/half.h"
#include "device.h"
#include "product_shape.h"

/// Type of sums: f32 for halves.
template <class T>
struct SumOf {
  using Type = float;
};
template <>
struct SumOf<double> {
  using Type = double;
};
template <class T>
using Sum = typename SumOf<T>::Type;

/// Writes an element of c, if it is one.
template <class T>
__device__ inline void store_element(const ProductShape& s, int64_t row, int64_t column, Sum<T> sum, const T* bias,
                                     T* c) {
  if (row >= s.m || column >= s.n) return;
  if (bias) sum += static_cast<Sum<T>>(bias[column]);
  T& place = c[row * s.ldc + column];
  place = static_cast<T>(s.accumulate ? static_cast<Sum<T>>(place) + sum : sum);
}
