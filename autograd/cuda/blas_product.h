#pragma once

#include <cstdint>

#include "blas.h"

// Products by cuBLASLt (blas.h) on this thread's current device.

namespace tape::cuda_device {

/// d [rows, columns] = op(a) op(b) + bias, or c + that with `accumulate`; op(a) is [rows, inner], bias [rows]. All
/// matrices are column-major, c as d, and `batch` products have the same distance between their matrices in elements.
struct BlasProduct {
  BlasType type = BlasType::f32;           ///< of a and b
  BlasType result = BlasType::f32;         ///< of d, the bias and the sums of b: the same, or f32 for bf16
  BlasCompute compute = BlasCompute::f32;  ///< of the products and sums
  bool transpose_a = false, transpose_b = false, accumulate = false;
  int64_t rows = 0, columns = 0, inner = 0;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_d = 0, stride_bias = 0;
  bool operator==(const BlasProduct&) const = default;
};

/// Device memory of a product.
struct BlasOperands {
  const void* a;
  const void* b;
  const void* bias;  ///< or null
  void* d;
  void* sums_of_b = nullptr;  ///< if not null (only without bias): receives the sums of op(b) over its rows, [columns]
  const void* c = nullptr;    ///< with `accumulate`; null: d
  bool operator==(const BlasOperands&) const = default;
};

/// Device memory that cuBLASLt may use, allocated when a product first needs some; what NVIDIA recommends for sm_90.
inline constexpr int64_t kBlasWorkspace = int64_t{32} << 20;

/// Runs a product. Returns false, having done nothing, if blas_unavailable() or if cuBLASLt has no algorithm for it.
///
/// The algorithm is the first one that cuBLASLt suggests for the sizes and the alignment of the operands, up to 16
/// bytes. It stays the same for the process, so results have the same bits each time. Throws Error (device) if cuBLASLt
/// fails.
bool multiply(const BlasProduct& product, const BlasOperands& operands);

}  // namespace tape::cuda_device
