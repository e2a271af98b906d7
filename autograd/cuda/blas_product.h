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
/// Throws Error (device) if cuBLASLt fails.
///
/// The algorithm is decided on when a product of these sizes, with operands of these alignments up to 16 bytes, first
/// runs: the device runs what cuBLASLt suggests on the operands, with results in temporary memory, and the fastest one
/// is taken. The decision is final, and an AlgorithmFile keeps it for other processes on the same kind of GPU with the
/// same cuBLASLt. If only products that come again were measured, their first uses would have other bits in the next
/// run, which reads the decision. Products that are not measured have a final decision too, for the first suggestion:
/// those that come after 4 seconds of measuring in a process, and those without memory for the results. So a program
/// computes the same bits each time, as long as the file can be written and remains. Processes that decide on a product
/// at the same time may differ in that run.
///
/// With TAPE_CUDA_ALGORITHMS=first, and on an emulated device without TAPE_CUDA_ALGORITHMS=measure, the first
/// suggestion is taken and no file is read.
bool multiply(const BlasProduct& product, const BlasOperands& operands);

/// How the algorithms of products were chosen where cuBLASLt suggests several.
struct BlasChoices {
  int64_t measured = 0;    ///< the fastest one
  int64_t from_file = 0;   ///< as decided before, by another process or this one
  int64_t unmeasured = 0;  ///< the first suggestion, for lack of time, of memory, or of space in the file
};
/// Those of this thread's current device, all zero without measuring.
BlasChoices blas_choices();

}  // namespace tape::cuda_device
