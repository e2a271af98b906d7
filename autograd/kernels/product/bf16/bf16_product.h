#pragma once

#include "../../runtime/common/isa.h"
#include "../common/gemm.h"

#if defined(__x86_64__)
namespace tape::kernels::bf16 {

// Weak, because a build for other CPUs only (TAPEFORMER_KERNELS) does not define these.

/// bf16_product() (bf16_backend.h) with AVX512-BF16.
TAPE_WEAK void product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

/// See BlockedProductKernels (blocked_product.h).
TAPE_WEAK int64_t packed_bytes(const Gemm& shape);
TAPE_WEAK void pack(const Gemm& shape, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels::bf16
#endif
