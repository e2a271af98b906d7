#pragma once

// Row sums of a left operand, computed while it is packed (Gemm::row_sums_a).

#include "../vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {

/// Adds the row sums of a block of op(A) [rows, k] to `sums`, or starts them; A is stored transposed, as k rows of
/// `stride`. A few rows are summed at a time, and each block separately, so that rounding errors stay those of short
/// sums.
template <class T>
static void add_left_sums(int64_t rows, int64_t k, const T* a, int64_t stride, bool start, T* sums) {
  constexpr int64_t kTogether = 8, kWidth = 16 * kLanes<T>;
  for (int64_t begin = 0; begin < rows; begin += kWidth) {
    const int64_t count = smaller(kWidth, rows - begin);
    alignas(64) T block[kWidth] = {};
    for (int64_t first = 0; first < k; first += kTogether) {
      const int64_t end = smaller(first + kTogether, k);
      for (int64_t j = 0; j < count; j += kLanes<T>) {
        Vec<T> few = {};
        for (int64_t i = first; i < end; ++i) few += load_first_or_all(a + i * stride + begin + j, count - j, T(0));
        store(block + j, load(block + j) + few);
      }
    }
    for (int64_t j = 0; j < count; ++j) sums[begin + j] = (start ? T(0) : sums[begin + j]) + block[j];
  }
}

}  // namespace tape::kernels::TAPE_LEVEL
