#pragma once

#include "gemm.h"

namespace tape::kernels {

// The product of gemm() with both operands rounded to bf16 (8 bits of precision, to nearest, ties to even) as they are
// packed; products and sums are f32's. On the thread that calls. The bits of an element do not depend on what part of C
// it is computed with.

#if defined(__x86_64__)
namespace bf16 {
/// AVX512-BF16.
void product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);
}  // namespace bf16
namespace amx {
/// Tiles (AMX-BF16): the sums of 32 products at a time, in the order of k, are added to C and bias; values below the
/// smallest normal one are zero.
void product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);
}  // namespace amx
#endif
/// The bits of amx::product() in plain C++.
void emulated_tile_product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

/// The product of bf16_road(), which must not be `none`.
void bf16_product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

}  // namespace tape::kernels
