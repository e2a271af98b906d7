#pragma once

#include "../../runtime/common/isa.h"
#include "../common/gemm.h"

#if defined(__x86_64__)
namespace tape::kernels::amx {

/// bf16_product() (bf16_backend.h) on AMX-BF16 tiles, with each value represented as a sum of 1 or 2 bf16
/// (tile_blocks.h). Sums of 32 products at a time, in the order of k, are added to C and bias; subnormal values are
/// flushed to zero.
TAPE_WEAK void product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);

/// See BlockedProductKernels (blocked_product.h); panels are pairs of tiles.
TAPE_WEAK int64_t packed_bytes(const Gemm& shape, int parts);
TAPE_WEAK void pack(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels::amx
#endif
