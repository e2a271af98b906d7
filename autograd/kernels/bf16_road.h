#pragma once

#include <string_view>

#include "gemm.h"

namespace tape::kernels {

/// What multiplies bf16. `emulated_tiles` computes what `tiles` does, bit for bit, slowly, on every CPU: for tests.
enum class Bf16Road { none, avx512, tiles, emulated_tiles };

/// "none", "AVX512-BF16", "AMX tiles", "emulated AMX tiles"
std::string_view to_string(Bf16Road road);

/// The fastest road of this CPU. Tiles need the permission of the operating system, which is asked for once.
Bf16Road supported_bf16_road();

/// The road in use: supported_bf16_road(), or the one set; `none` where the level in use (isa.h) is below v4.
Bf16Road bf16_road();

/// Changes the road in use, for tests and benchmarks. Throws std::invalid_argument where the CPU cannot take it.
void set_bf16_road(Bf16Road road);

/// The product of gemm() by the road in use, which must not be `none`: both operands are rounded to bf16 (8 bits of
/// precision, to nearest, ties to even) as they are packed; products and sums are f32's. On the thread that calls. The
/// bits of an element do not depend on what part of C it is computed with.
void bf16_product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

}  // namespace tape::kernels
