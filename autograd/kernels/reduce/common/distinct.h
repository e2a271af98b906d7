#pragma once

#include <cstdint>

#include "../../runtime/common/isa.h"

namespace tape::kernels {

/// Plain loops, compiled once for every CPU; T is float, double or int64_t. Each NaN is one of its own, and they come
/// last.
template <class T>
struct DistinctKernels {
  /// The different values of x [n] in rising order and how often each stands there, and where each of x stands among
  /// them: `values`, `counts` and `places` [n], of which the first two get *found.
  void (*values)(int64_t n, const T* x, T* values, int64_t* counts, int64_t* places, int64_t* found);
  /// The different ones of n rows x [n, k], compared value by value from the first on, in rising order: `firsts` [n]
  /// gets for each of the *found the first row that is like it, `counts` [n] how many are, and `places` [n] for each
  /// row of x which of them it is.
  void (*rows)(int64_t n, int64_t k, const T* x, int64_t* firsts, int64_t* counts, int64_t* places, int64_t* found);
};
TAPE_COMMON_TABLE(DistinctKernels<float>, distinct_f32)
TAPE_COMMON_TABLE(DistinctKernels<double>, distinct_f64)
TAPE_COMMON_TABLE(DistinctKernels<int64_t>, distinct_i64)
template <class T>
const DistinctKernels<T>& distinct() {
  if constexpr (std::is_same_v<T, float>)
    return distinct_f32();
  else if constexpr (std::is_same_v<T, double>)
    return distinct_f64();
  else
    return distinct_i64();
}

}  // namespace tape::kernels
