#pragma once

#include "../runtime/common/isa.h"
#include "common/gemm.h"

namespace tape::kernels {

/// Up to so many rows of A packing B costs more than it saves.
inline constexpr int64_t kMostFewRows = 64;

template <class T>
struct FewRowsKernels {
  /// The product of gemm() for few rows of A, not transposed, and a transposed B: dot products of rows, nothing packed,
  /// on the thread that calls. As a weight is applied to the next token of a few sentences.
  void (*product)(const Gemm& shape, const T* a, const T* b, const T* bias, T* c);
};
TAPE_KERNEL_TABLE(FewRowsKernels, few_rows)
}  // namespace tape::kernels
