#pragma once

#include "autograd/kernels/gemm.h"
#include "autograd/kernels/isa.h"

namespace tape::kernels {

/// Rows of A that FewRowsKernels take.
inline constexpr int64_t kMostFewRows = 4;

template <class T>
struct FewRowsKernels {
  /// The product of gemm() for one to kMostFewRows rows of A, not transposed, and a transposed B: dot products of rows,
  /// each row of B read once and nothing packed, on the thread that calls. As a weight is applied to a token or two.
  void (*product)(const Gemm& shape, const T* a, const T* b, const T* bias, T* c);
};
TAPE_KERNEL_TABLE(FewRowsKernels, few_rows)
}  // namespace tape::kernels
