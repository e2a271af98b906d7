#pragma once

#include "gemm.h"

namespace tape::kernels {

#if defined(__x86_64__)
namespace bf16 {
/// The product of gemm() with both operands rounded to bf16 (8 bits of precision, to nearest, ties to even) as they are
/// packed; products and sums are f32's. On the thread that calls; bits as blocked_product.h says.
void product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);
}  // namespace bf16
#endif
}  // namespace tape::kernels
