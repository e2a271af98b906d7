#pragma once

#include "autograd/kernels/gemm.h"
#include "autograd/kernels/isa.h"

namespace tape::kernels {

template <class T>
struct BlockedProductKernels {
  /// The product of gemm(), by blocks whose operands are packed for the vector unit, on the thread that calls. Every
  /// element is summed in the order of k, in blocks that depend on k alone: its bits are the same whatever part of C it
  /// is computed with.
  void (*product)(const Gemm& shape, const T* a, const T* b, const T* bias, T* c);
};
TAPE_KERNEL_TABLE(BlockedProductKernels, blocked_product)
}  // namespace tape::kernels
