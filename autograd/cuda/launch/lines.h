#pragma once

#include <algorithm>
#include <cstdint>

#include "../kernels/fold_shape.h"
#include "elements.h"

// Launches of kernels over lines. Internal to the CUDA entries of kernel tables.

namespace tape::kernels::cuda {

/// Blocks and threads of a kernel.
struct Launch {
  cuda_device::Grid blocks, threads;
};

/// Number of threads that share a line of `size` values, `inner` apart. Adjacent lines are read by adjacent threads.
inline int64_t threads_per_line(int64_t size, int64_t inner) {
  constexpr int64_t kAdjacent = 16, kFew = 8, kForWarp = 1024;
  return inner >= kAdjacent || size <= kFew ? 1 : size <= kForWarp ? 32 : 256;
}
/// For kernels that loop with for_lines() (kernels/lines.h).
inline Launch over_lines(int64_t lines, int64_t threads) {
  constexpr int64_t kMostBlocks = 1 << 20;
  const int64_t lines_per_block = threads == 1 ? 128 : 256 / threads;
  return {{static_cast<uint32_t>(std::min(quotient_up(lines, lines_per_block), kMostBlocks))},
          {static_cast<uint32_t>(threads), static_cast<uint32_t>(lines_per_block)}};
}

/// A reduction of x [outer, size, inner] in parts of a size that keeps rounding errors small.
inline FoldShape fold_shape(int64_t outer, int64_t size, int64_t inner) {
  const int64_t threads = threads_per_line(size, inner), chunk = threads == 1 ? 256 : 32 * threads;
  return {outer, size, inner, inner, std::max<int64_t>(1, quotient_up(size, chunk)), chunk};
}
/// Blocks for such a reduction.
inline Launch over_parts(const FoldShape& shape) {
  return over_lines(shape.outer * shape.parts * shape.inner, threads_per_line(shape.size, shape.inner));
}

/// Reduces by `first`, which receives `extra` too, and the results of its parts by `next`.
template <class T, class... Extra>
void fold_in_parts(const FloatKernels& first, const FloatKernels& next, FoldShape shape, const T* x, T* y,
                   Extra... extra) {
  const Launch launch = over_parts(shape);
  if (shape.parts == 1) return first.of<T>()(launch.blocks, launch.threads, shape, x, y, extra...);
  const DeviceScratch<T> partial(shape.outer * shape.parts * shape.inner);
  first.of<T>()(launch.blocks, launch.threads, shape, x, partial.get(), extra...);
  fold_in_parts(next, next, fold_shape(shape.outer, shape.parts, shape.inner), static_cast<const T*>(partial.get()), y);
}

/// y [cols] = sum of x [rows, cols], whose rows are `row` values apart.
template <class T>
void sum_of_rows(int64_t rows, int64_t cols, int64_t row, const T* x, T* y);

}  // namespace tape::kernels::cuda
