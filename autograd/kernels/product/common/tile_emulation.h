#pragma once

#include "gemm.h"

namespace tape::kernels {

/// The bits of amx::product() (tile_product.h) in plain C++.
void emulated_tile_product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);

int64_t emulated_packed_bytes(const Gemm& shape, int parts);
void emulated_pack(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels
