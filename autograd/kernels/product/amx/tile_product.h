#pragma once

#include "../../runtime/common/isa.h"
#include "../common/gemm.h"

#if defined(__x86_64__)
namespace tape::kernels::amx {

/// The product of bf16_product() (bf16_backend.h) by tiles (AMX-BF16), each value taken as the sum of so many bf16, 1
/// or 2 (tile_blocks.h): the sums of 32 products at a time, in the order of k, are added to C and bias; values below
/// the smallest normal one are zero.
TAPE_WEAK void product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);

/// As BlockedProductKernels says (blocked_product.h); panels are pairs of tiles.
TAPE_WEAK int64_t packed_bytes(const Gemm& shape, int parts);
TAPE_WEAK void pack(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels::amx
#endif
