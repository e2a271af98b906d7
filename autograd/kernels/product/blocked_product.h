#pragma once

#include "../runtime/common/isa.h"
#include "common/gemm.h"

namespace tape::kernels {

/// Whether to pack A, whose values have `size` bytes: if it is transposed, or if its rows are a multiple of a page
/// apart and would share a few cache sets.
inline bool packs_left(const Gemm& shape, int64_t size) { return shape.transpose_a || shape.lda * size % 4096 == 0; }

template <class T>
struct BlockedProductKernels {
  /// The product of gemm() on the calling thread, with operands packed in blocks for the vector unit. Every element is
  /// summed in the order of k, in blocks that depend only on k, so its bits are the same whatever part of C it is
  /// computed with.
  void (*product)(const Gemm& shape, const T* a, const T* b, const T* bias, T* c);
  /// Size in bytes of a B packed by pack(), and number of columns per panel.
  int64_t (*packed_bytes)(const Gemm& shape);
  int64_t panel;
  /// Packs columns [begin, end) of B into their position in a fully packed B; both must be panel boundaries or the end.
  void (*pack)(const Gemm& shape, const T* b, int64_t begin, int64_t end, void* to);
};
TAPE_CPU_KERNEL_TABLE(BlockedProductKernels, blocked_product)
}  // namespace tape::kernels
