#pragma once

#include <cstdint>

#include "../../elementwise/broadcast.h"
#include "../../runtime/common/isa.h"
#include "../matmul_precision.h"

namespace tape::kernels {

/// How B of a product is packed for the kernels in use. What was packed in one way is read in the same way alone.
struct RightPacking {
  enum class Kernels { none, blocked, rounded };
  Kernels kernels = Kernels::none;  ///< none: those of this CPU's level pack nothing
  int level = 0, backend = 0, parts = 0;
  int64_t bytes = 0;
  bool operator==(const RightPacking&) const = default;
};

/// B of many products, packed once by pack_right().
struct PackedRight {
  const void* values = nullptr;  ///< null: there is none, and B is packed as it is read
  RightPacking::Kernels kernels = RightPacking::Kernels::none;
  /// Columns of all that is packed, and, of a part of a product, where its own begin.
  int64_t columns = 0, column = 0;
};

/// One row-major product C [m, n] = op(A) op(B) + bias, added to C where `accumulate`; op(A) is [m, k].
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
  /// Of a product of floats, at least: what is less exact is used where it is faster (bf16_backend.h).
  MatmulPrecision precision = MatmulPrecision::highest;
  /// Read in B's place.
  PackedRight packed = {};
  /// Null, or [m] of the operands' type, with transpose_a alone: gets the sum of each row of op(A), taken while A is in
  /// the cache to be packed. dW = dY^T X gives the gradient of the bias this way.
  void* row_sums_a = nullptr;
};

/// y [rows, out] = x weight^T of x [rows, in] and weight [out, in].
inline Gemm linear_gemm(int64_t rows, int64_t out, int64_t in, MatmulPrecision precision) {
  return {.transpose_b = true, .m = rows, .n = out, .k = in, .lda = in, .ldb = in, .ldc = out, .precision = precision};
}
/// The gradient of that weight: dy^T x of dy [rows, out].
inline Gemm linear_weight_gemm(int64_t rows, int64_t out, int64_t in, MatmulPrecision precision) {
  return {.transpose_a = true, .m = out, .n = in, .k = rows, .lda = out, .ldb = in, .ldc = in, .precision = precision};
}

/// The packing of products of B [k, n] or its transpose, in the shape's precision, of values of so many bytes.
RightPacking right_packing(const Gemm& shape, int64_t value_size);
/// Packs B once for many products with few rows of A or many: `to` holds right_packing(shape).bytes, on 64 bytes.
void pack_right(const Gemm& shape, const float* b, void* to);
void pack_right(const Gemm& shape, const double* b, void* to);

/// `bias` [n] is added to each row; null is none. The kernels are our own where the CPU has AVX2 and there is more than
/// a row or two (blocked_product.h), else OpenBLAS's.
void gemm(const Gemm& shape, const float* a, const float* b, float* c, const float* bias = nullptr);
void gemm(const Gemm& shape, const double* a, const double* b, double* c, const double* bias = nullptr);

/// The products of operations.
template <class T>
struct ProductKernels {
  /// gemm() above.
  void (*gemm)(const Gemm& shape, const T* a, const T* b, T* c, const T* bias);
  /// One product for each element of the batch; its strides are those of A, B and C, in elements. Small products run in
  /// parallel on one thread each, large ones one after the other on all threads. No two share a part of C.
  void (*gemm_batched)(const Gemm& shape, const Broadcast& batch, const T* a, const T* b, T* c);
};
TAPE_COMMON_KERNEL_TABLE(ProductKernels, products)

}  // namespace tape::kernels
