#pragma once

#include "elements.h"

namespace tape::kernels::cuda {

/// Stably sorts n keys, and the positions that they come from.
class RadixSort {
 public:
  /// The positions are 0, 1, ..., n - 1; the keys are to be written.
  explicit RadixSort(int64_t n);

  /// Sorts by keys below `bound`; 0 stands for 2^64. Keys may be replaced and sorted again, for a second
  /// criterion that precedes the first.
  void sort(uint64_t bound);

  uint64_t* keys() const { return (swapped_ ? other_keys_ : keys_).get(); }
  const int64_t* order() const { return order_now(); }

 private:
  int64_t* order_now() const { return (swapped_ ? other_order_ : order_).get(); }

  int64_t n_, tiles_;
  DeviceScratch<uint64_t> keys_, other_keys_;
  DeviceScratch<int64_t> order_, other_order_, counts_;
  bool swapped_ = false;
};

}  // namespace tape::kernels::cuda
