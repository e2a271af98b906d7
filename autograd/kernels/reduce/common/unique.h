#pragma once

#include <cstdint>

#include "../../runtime/common/isa.h"

namespace tape::kernels {

/// Unique values or rows. Plain loops, compiled once for all CPUs; T is float, double or int64_t. Every NaN counts as a
/// separate value, and they come last.
template <class T>
struct UniqueKernels {
  /// Unique values of x [n] in ascending order, the number of occurrences of each, and the index of each element of x
  /// among them: `values`, `counts` and `places` [n], where the first two get *found entries.
  void (*values)(int64_t n, const T* x, T* values, int64_t* counts, int64_t* places, int64_t* found);
  /// Unique rows of x [n, k] in ascending lexicographic order: `firsts` [n] gets the first row equal to each of the
  /// *found unique ones, `counts` [n] their numbers of occurrences, and `places` [n] the index of each row of x among
  /// them.
  void (*rows)(int64_t n, int64_t k, const T* x, int64_t* firsts, int64_t* counts, int64_t* places, int64_t* found);
};
TAPE_COMMON_TABLE(UniqueKernels<float>, distinct_f32)
TAPE_COMMON_TABLE(UniqueKernels<double>, distinct_f64)
TAPE_COMMON_TABLE(UniqueKernels<int64_t>, distinct_i64)
template <class T>
const UniqueKernels<T>& unique() {
  if constexpr (std::is_same_v<T, float>)
    return distinct_f32();
  else if constexpr (std::is_same_v<T, double>)
    return distinct_f64();
  else
    return distinct_i64();
}

}  // namespace tape::kernels
