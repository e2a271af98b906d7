#pragma once

#include <string>
#include <string_view>

#include "../matmul_precision.h"
#include "gemm.h"

namespace tape::kernels {

template <class T>
struct AttentionKernels;

/// Hardware that multiplies bf16.
enum class Bf16Backend { none, avx512, tiles };

/// "none", "AVX512-BF16", "AMX tiles"
std::string_view to_string(Bf16Backend backend);

/// The best bf16 backend that this CPU supports. AMX needs the operating system's permission, which is requested once.
Bf16Backend supported_bf16_backend();

/// The backend in use: the one set, else the supported one if it is faster than f32 (AVX512-BF16 is on AMD; on Intel it
/// multiplies at half the rate of f32). `none` if the level in use (isa.h) is below v4.
Bf16Backend bf16_backend();

/// The precision that products use if the given one is requested: the fastest on this CPU that is at least as exact.
MatmulPrecision precision_in_use(MatmulPrecision asked);

/// Describes precision_in_use(): "f32", "two bf16 per value on AMX tiles", "bf16 on AMX tiles", "bf16 on AVX512-BF16".
std::string products_in_use(MatmulPrecision asked);

/// Sets the backend, for tests and benchmarks. Throws Error (config) if the CPU does not support it.
void set_bf16_backend(Bf16Backend backend);

/// Tile kernels that replace the CPU's.
struct TileKernels {
  void (*product)(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c);
  int64_t (*packed_bytes)(const Gemm& shape, int parts);
  void (*pack)(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to);
  const AttentionKernels<float>& (*attention)(int parts);
};
/// For tests: makes every CPU and level multiply with these tile kernels. Null restores the CPU's own.
void set_tile_kernels(const TileKernels* kernels);
const TileKernels* tile_kernels();

/// Number of bf16 that represent a value on tiles: 2 in high precision, else 1.
inline int parts_of(MatmulPrecision precision) { return precision == MatmulPrecision::high ? 2 : 1; }

/// The product of gemm() in reduced precision with the backend in use, which must support it. Both operands are rounded
/// to bf16 (8 bits of precision, to nearest, ties to even) during packing; products and sums are f32. In high precision
/// on tiles, the rounding remainders are rounded and multiplied too; an infinite value has no remainder and gives NaN.
/// Runs on the calling thread. The bits of an element do not depend on the part of C it is computed with.
void bf16_product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c);

/// Counterparts of BlockedProductKernels (blocked_product.h) for these products; panels have 32 columns.
int64_t bf16_packed_bytes(const Gemm& shape);
void bf16_pack(const Gemm& shape, const float* b, int64_t begin, int64_t end, void* to);

}  // namespace tape::kernels
