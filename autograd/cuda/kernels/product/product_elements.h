#pragma once

// What the kernels of matrix products share.

#include "../../../../base/half.h"
#include "../device.h"
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

/// Writes an element of c, if it is one. C is the type of c and the bias.
template <class C>
__device__ inline void store_element(const ProductShape& s, int64_t row, int64_t column, Sum<C> sum, const C* bias,
                                     C* c) {
  if (row >= s.m || column >= s.n) return;
  if (bias) sum += static_cast<Sum<C>>(bias[column]);
  C& place = c[row * s.ldc + column];
  place = static_cast<C>(s.accumulate ? static_cast<Sum<C>>(place) + sum : sum);
}
