#pragma once

#include "../blas.h"

namespace tape::cuda_device::emulation {

/// cuBLASLt's functions on the emulated device. cublasLtMatmul computes on the CPU and checks what it was given: that
/// matrices fit each other and the algorithm, that they are device memory within allocations, written before they are
/// read, aligned as the algorithm expects, and that the output overlaps nothing. Faults are thrown as Error (device).
const Blas& emulated_blas();

}  // namespace tape::cuda_device::emulation
