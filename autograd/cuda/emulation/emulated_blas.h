#pragma once

#include "../blas.h"

namespace tape::cuda_device::emulation {

/// cuBLASLt's functions on the emulated device. cublasLtMatmul computes on the CPU and checks what it was given: that
/// matrices fit each other and the algorithm, that they are device memory within allocations, written before they are
/// read, aligned as the algorithm expects, and that the output overlaps nothing. Faults are thrown as Error (device).
const Blas& emulated_blas();

/// An algorithm that cuBLASLt suggests for every product.
struct EmulatedAlgorithm {
  uint32_t microseconds = 1;  ///< that it takes on the pretended clock
  uint32_t parts = 1;         ///< of the inner axis, which are summed apart, so that bits differ
  BlasStatus status = 0;      ///< of cublasLtMatmul, which does nothing otherwise
};

}  // namespace tape::cuda_device::emulation
