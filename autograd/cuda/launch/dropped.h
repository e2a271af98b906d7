#pragma once

#include "../../kernels/random/random.h"
#include "../kernels/random/dropped.h"

namespace tape::kernels::cuda {

/// Dropout with a probability below 1, as kernels of values of T take it.
template <class T>
Dropped<Sum<T>> dropped_by(const Dropout& dropout) {
  const double p = dropout.p;
  return {dropout.seed, dropout.counter, p <= 0 ? 0 : static_cast<uint32_t>(p * 4294967296.0),
          static_cast<Sum<T>>(1 / (1 - p))};
}

/// Kernels of their own: y = dropout(x), and a sum.
/// @{
template <class T>
void drop(int64_t n, const Dropout& dropout, const T* x, T* y);
template <class T>
void add_dropped(int64_t n, const DroppedSum<T>& sum);
/// @}

}  // namespace tape::kernels::cuda
