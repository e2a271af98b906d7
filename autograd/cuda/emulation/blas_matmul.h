#pragma once

#include <cstdint>

#include "../blas.h"

namespace tape::cuda_device::emulation {

/// Column-major matrices [rows, columns] of a batch, as they are stored.
struct BlasMatrix {
  BlasType type = BlasType::f32;
  int64_t rows = 0, columns = 0, leading = 0;
  int64_t batch = 1, stride = 0;
  bool transposed = false;     ///< whether the product reads their transposes
  const char* data = nullptr;  ///< device memory

  int64_t element_bytes() const { return type == BlasType::f64 ? 8 : type == BlasType::f32 ? 4 : 2; }
  /// Sizes of what the product reads.
  int64_t op_rows() const { return transposed ? columns : rows; }
  int64_t op_columns() const { return transposed ? rows : columns; }
};

/// A call of cublasLtMatmul: d = alpha op(a) op(b) + beta c + bias.
struct BlasMatmul {
  BlasMatrix a, b, c, d;
  BlasCompute compute = BlasCompute::f32;
  double alpha = 1, beta = 0;
  const char* bias = nullptr;  ///< [rows of d] or null
  int64_t bias_stride = 0;     ///< elements between those of a batch
  char* sums_of_b = nullptr;   ///< null or [columns of d], which receives the sums of the columns of op(b)
  char* workspace = nullptr;
  int64_t workspace_bytes = 0;
  int64_t parts = 1;          ///< of the inner axis, whose sums are added up
  bool rounds_parts = false;  ///< whether sums of parts are rounded to the type of d
};

/// Computes the product in device memory, which must be accessible. Throws Error (device) with the first fault.
void run_matmul(const BlasMatmul& matmul);

}  // namespace tape::cuda_device::emulation
