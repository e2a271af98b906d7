#pragma once

// Passes over one row, shared by softmax, cross-entropy and attention.

#include "vec_math.h"

namespace tape::kernels::TAPE_LEVEL {

/// The maximum, which may ignore NaN; -inf for an empty row.
template <class T>
TAPE_INLINE T row_max(int64_t n, const T* x) {
  constexpr int kStep = kLanes<T>;
  const T lowest = static_cast<T>(-kInfinity);
  Vec<T> a = fill(lowest), b = a;
  int64_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    const Vec<T> u = load(x + i), v = load(x + i + kStep);
    a = u > a ? u : a;
    b = v > b ? v : b;
  }
  for (; i < n; i += kStep) {
    const Vec<T> v = load_first_or_all(x + i, n - i, lowest);
    a = v > a ? v : a;
  }
  return fold(b > a ? b : a, Larger());
}

/// A maximum that is safe to subtract: 0 for a row of only -inf (or NaN), whose exponentials are then 0 (or NaN).
template <class T>
TAPE_INLINE T finite_or_zero(T max) {
  return max == static_cast<T>(-kInfinity) ? T(0) : max;
}

/// Sum of term(vector, position) over a row; lanes beyond n are filled with `rest`. Partial sums are added in double.
template <class T, class Term>
TAPE_INLINE double row_sum(int64_t n, const T* x, T rest, const Term& term) {
  constexpr int kStep = kLanes<T>;
  constexpr int64_t kBlock = 64 * kStep;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = smaller(n, begin + kBlock);
    Vec<T> a = {}, b = {};
    int64_t i = begin;
    for (; i + 2 * kStep <= end; i += 2 * kStep) {
      a += term(load(x + i), i);
      b += term(load(x + i + kStep), i + kStep);
    }
    for (; i < end; i += kStep) a += term(load_first_or_all(x + i, end - i, rest), i);
    total += static_cast<double>(fold(a + b, Add()));
  }
  return total;
}

/// Sum of exp(x[i] - max).
template <class T>
TAPE_INLINE double row_sum_exp(int64_t n, const T* x, T max) {
  return row_sum(n, x, static_cast<T>(-kInfinity), [max](Vec<T> v, int64_t) { return exp_of_negative(v - max); });
}

/// y[i] = f(x[i], position) for a row of n.
template <class T, class F>
TAPE_INLINE void map_row(int64_t n, const T* x, T* y, const F& f) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(y + i, f(load(x + i), i));
  if (i < n) store_first(y + i, f(load_first(x + i, n - i), i), n - i);
}

/// A vector from p + i: n - i >= 1 values, or all lanes if there are more; zeros beyond.
template <class T>
TAPE_INLINE Vec<T> load_up_to(const T* p, int64_t i, int64_t n) {
  return n - i >= kLanes<T> ? load(p + i) : load_first(p + i, n - i);
}

}  // namespace tape::kernels::TAPE_LEVEL
