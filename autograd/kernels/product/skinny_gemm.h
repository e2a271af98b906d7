#pragma once

#include "../runtime/common/isa.h"
#include "common/gemm.h"

namespace tape::kernels {

/// Up to this many rows of A, packing B costs more than it saves.
inline constexpr int64_t kMaxSkinnyRows = 64;

template <class T>
struct SkinnyGemmKernels {
  /// The product of gemm() for few rows of a non-transposed A and a transposed B: dot products of rows, without
  /// packing, on the calling thread. Used to apply a weight to the next token of a few sequences.
  void (*product)(const Gemm& shape, const T* a, const T* b, const T* bias, T* c);
};
TAPE_CPU_KERNEL_TABLE(SkinnyGemmKernels, few_rows)
}  // namespace tape::kernels
