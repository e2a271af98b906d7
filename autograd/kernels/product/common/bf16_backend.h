#pragma once

#include <string>
#include <string_view>

#include "../matmul_precision.h"
#include "gemm.h"

namespace tape::kernels {

template <class T>
struct AttentionKernels;

/// What multiplies bf16.
enum class Bf16Backend { none, avx512, tiles };

/// "none", "AVX512-BF16", "AMX tiles"
std::string_view to_string(Bf16Backend backend);

/// The best bf16 backend that this CPU supports. Tiles need the permission of the operating system, which is asked for
/// once.
Bf16Backend supported_bf16_backend();

/// The backend in use: the one set, else the one supported where it is faster than f32 (AVX512-BF16 is on AMD's CPUs;
/// on Intel's it multiplies at half of f32's rate); `none` where the level in use (isa.h) is below v4.
Bf16Backend bf16_backend();

/// What products asked for in a precision run in: the fastest on this CPU of at least that precision.
MatmulPrecision precision_in_use(MatmulPrecision asked);

/// "f32", "two bf16 a value on AMX tiles", "bf16 on AMX tiles", "bf16 on AVX512-BF16": what precision_in_use() gives.
std::string products_in_use(MatmulPrecision asked);

/// Changes the backend in use, for tests and benchmarks. Error (config) where the CPU cannot take it.
void set_bf16_backend(Bf16Backend backend);

/// What computes on tiles in the CPU's place.
struct TileKernels {
  void (*product)(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);
  int64_t (*packed_bytes)(const Gemm& shape, int parts);
  void (*pack)(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to);
  const AttentionKernels<float>& (*attention)(int parts);
};
/// For tests: every CPU and level then multiplies with these tile kernels. Null restores the CPU's own.
void set_tile_kernels(const TileKernels* kernels);
const TileKernels* tile_kernels();

/// How many bf16 a value is the sum of, on tiles: 2 in high precision, else 1.
inline int parts_of(MatmulPrecision precision) { return precision == MatmulPrecision::high ? 2 : 1; }

/// The product of gemm() in a precision below the highest by the backend in use, which must offer it: both operands are
/// rounded to bf16 (8 bits of precision, to nearest, ties to even) as they are packed; products and sums are f32's. In
/// high precision on tiles what rounding leaves is rounded and multiplied too, and an infinite value, which leaves no
/// number, gives NaN. On the thread that calls. The bits of an element do not depend on what part of C it is computed
/// with.
void bf16_product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

/// As BlockedProductKernels says of an exact product (blocked_product.h), of this one; panels are 32 columns.
int64_t bf16_packed_bytes(const Gemm& shape);
void bf16_pack(const Gemm& shape, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels
