#pragma once

// Internal to the kernels: combines sums of rows computed by several threads.

#include "../runtime/level.h"

namespace tape::kernels::TAPE_LEVEL {

/// Adds `count` rows of `width` sums pairwise into the first, adjacent ones first.
template <class T>
TAPE_INLINE void add_pairwise(int64_t count, int64_t width, T* rows) {
  for (int64_t step = 1; step < count; step *= 2)
    for (int64_t r = 0; r + step < count; r += 2 * step) {
      T *to = rows + r * width, *from = to + step * width;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) to[i] += from[i];
    }
}

}  // namespace tape::kernels::TAPE_LEVEL
