#pragma once

#include "gemm.h"

namespace tape::kernels {

/// The bits of amx::product() (tile_product.h) in plain C++.
void emulated_tile_product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);

}  // namespace tape::kernels
