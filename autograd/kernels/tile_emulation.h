#pragma once

#include "attention.h"
#include "gemm.h"

namespace tape::kernels {

/// The bits of amx::product() (tile_product.h) in plain C++.
void emulated_tile_product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);

/// That of amx::attention() (tile_attention.h): the bits of its products; of its exponentials those of this CPU's
/// level.
const AttentionKernels<float>& emulated_tile_attention(int parts);

}  // namespace tape::kernels
