#pragma once

#include "../runtime/common/isa.h"
#include "common/gemm.h"

namespace tape::kernels {

/// Whether A, whose values have `size` bytes, is packed: where its rows lie along m, and where they are whole pages
/// apart, so that they fall on the same few lines of the cache.
inline bool packs_left(const Gemm& shape, int64_t size) { return shape.transpose_a || shape.lda * size % 4096 == 0; }

template <class T>
struct BlockedProductKernels {
  /// The product of gemm(), by blocks whose operands are packed for the vector unit, on the thread that calls. Every
  /// element is summed in the order of k, in blocks that depend on k alone: its bits are the same whatever part of C it
  /// is computed with.
  void (*product)(const Gemm& shape, const T* a, const T* b, const T* bias, T* c);
  /// What pack() writes for all of B, in bytes, and of how many columns each panel in it is.
  int64_t (*packed_bytes)(const Gemm& shape);
  int64_t panel;
  /// Columns [begin, end) of B, `begin` and `end` whole panels or the end, to their place in what is packed of all.
  void (*pack)(const Gemm& shape, const T* b, int64_t begin, int64_t end, void* to);
};
TAPE_KERNEL_TABLE(BlockedProductKernels, blocked_product)
}  // namespace tape::kernels
