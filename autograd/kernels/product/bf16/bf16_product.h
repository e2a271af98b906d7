#pragma once

#include "../common/gemm.h"

#if defined(__x86_64__)
namespace tape::kernels::bf16 {

/// The product of bf16_product() (bf16_road.h) by AVX512-BF16.
void product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

/// As BlockedProductKernels says (blocked_product.h).
int64_t packed_bytes(const Gemm& shape);
void pack(const Gemm& shape, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels::bf16
#endif
