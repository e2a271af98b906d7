#pragma once

// Exponentials of lines, as softmax and cross-entropy need them.

#include "lines.h"
#include "packs.h"

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

/// Calls whole(s) for packs [s, s + kPackSize<T>) of a contiguous line that begin at a multiple of 16 bytes, and
/// single(s) for the values before and after them, with the threads that share the line.
template <class T, class Whole, class Single>
__device__ TAPE_INLINE void for_line_packs(int64_t size, const T* line, const Whole& whole, const Single& single) {
  constexpr int64_t kWidth = kPackSize<T>;
  const int64_t before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(line) % 16 / sizeof(T));
  const int64_t first = min(size, before), packs = (size - first) / kWidth;
  for_positions(0, first, single);
  for_positions(0, packs, [&](int64_t pack) { whole(first + pack * kWidth); });
  for_positions(first + packs * kWidth, size, single);
}

/// The sum of the exponentials of values that come one after the other, relative to the largest so far.
template <class S>
class OnlineSum {
 public:
  /// The next values are at most `largest`.
  __device__ TAPE_INLINE void raise(S largest) {
    if (!(largest > max_)) return;
    sum_ *= exp_of_negative(max_ - largest);
    max_ = largest;
  }
  __device__ TAPE_INLINE void add(S value) { sum_ += exp_of_negative(value - reference()); }

  /// log(sum(exp(x))) of the values of all threads that share a line.
  __device__ double log_of_line() const {
    const S largest = over_line(max_, Larger()), all = largest == -INFINITY ? S(0) : largest;
    // Where all values were -inf, the sum is 0 or NaN, and the difference may be positive.
    const S scaled = max_ == -INFINITY ? sum_ : sum_ * exp_of_negative(max_ - all);
    const double sum = over_line(static_cast<double>(scaled), Add());
    return static_cast<double>(all) + log(sum);
  }

 private:
  /// 0 if all values were -inf (or NaN), whose exponentials are then 0 (or NaN).
  __device__ TAPE_INLINE S reference() const { return max_ == -INFINITY ? S(0) : max_; }

  S max_ = -INFINITY, sum_ = 0;
};
