#pragma once

// Exponentials of lines, as softmax and cross-entropy need them.

#include "bf16.h"
#include "lines.h"

/// exp(x) for x <= 0. As on the CPU, subnormal floats are flushed to zero.
__device__ inline float exp_of_negative(float x) { return x < -87.3F ? 0.0F : expf(x); }
__device__ inline double exp_of_negative(double x) { return exp(x); }

/// The maximum of a line (ignoring NaN) as a number that is safe to subtract: 0 for a line of only -inf (or NaN), whose
/// exponentials are then 0 (or NaN).
template <class T>
__device__ Compute<T> max_of_line(int64_t size, int64_t step, const T* x) {
  Compute<T> largest = -INFINITY;
  for_positions(0, size, [&](int64_t s) { largest = max(largest, widened(x[s * step])); });
  largest = over_line(largest, Larger());
  return largest == -INFINITY ? Compute<T>(0) : largest;
}
/// Sum of exp(x - max) over a line.
template <class T>
__device__ double sum_of_exp(int64_t size, int64_t step, const T* x, Compute<T> max) {
  LongSum<Compute<T>> sum;
  for_positions(0, size, [&](int64_t s) { sum.add(exp_of_negative(widened(x[s * step]) - max)); });
  return sum.of_line();
}
