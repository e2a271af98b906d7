#pragma once

#include <cstdint>
#include <type_traits>

#include "../../../../base/half.h"
#include "../../elementwise/broadcast.h"
#include "../../runtime/common/isa.h"
#include "../matmul_precision.h"

namespace tape::kernels {

/// How the kernels in use pack B. Packed data can only be read by the kernels it was packed for.
struct RightPacking {
  enum class Kernels { none, blocked, rounded };
  Kernels kernels = Kernels::none;  ///< none: this CPU's kernels do not pack
  int level = 0, backend = 0, parts = 0;
  int64_t bytes = 0;
  bool operator==(const RightPacking&) const = default;
};

/// A B that pack_right() packed once, for many products.
struct PackedRight {
  const void* values = nullptr;  ///< null: B is not packed yet, and is packed as it is read
  RightPacking::Kernels kernels = RightPacking::Kernels::none;
  /// Number of packed columns, and the first one of this part of a product.
  int64_t columns = 0, column = 0;
};

/// One row-major product C [m, n] = op(A) op(B) + bias, or C += that with `accumulate`; op(A) is [m, k].
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
  /// Minimum precision of a product of floats; lower ones are used only if they are faster (bf16_backend.h).
  MatmulPrecision precision = MatmulPrecision::highest;
  /// Read instead of B.
  PackedRight packed = {};
  /// If not null (only with transpose_a): receives the sum of each row of op(A), [m], computed while A is in the cache
  /// for packing. dW = dY^T X gives the bias gradient this way.
  void* row_sums_a = nullptr;
};

/// y [rows, out] = x weight^T, with x [rows, in] and weight [out, in].
inline Gemm linear_gemm(int64_t rows, int64_t out, int64_t in, MatmulPrecision precision) {
  return {.transpose_b = true, .m = rows, .n = out, .k = in, .lda = in, .ldb = in, .ldc = out, .precision = precision};
}
/// The gradient of that x: dy weight, with dy [rows, out].
inline Gemm linear_input_gemm(int64_t rows, int64_t out, int64_t in, MatmulPrecision precision) {
  return {.m = rows, .n = in, .k = out, .lda = out, .ldb = in, .ldc = in, .precision = precision};
}
/// The gradient of that weight: dy^T x, with dy [rows, out].
inline Gemm linear_weight_gemm(int64_t rows, int64_t out, int64_t in, MatmulPrecision precision) {
  return {.transpose_a = true, .m = out, .n = in, .k = rows, .lda = out, .ldb = in, .ldc = in, .precision = precision};
}

/// How to pack B [k, n] or its transpose for products of this precision; `size` is the size of a value in bytes.
RightPacking right_packing(const Gemm& shape, int64_t value_size);
/// Packs B once for many products. `to` has right_packing(shape).bytes bytes, aligned to 64.
void pack_right(const Gemm& shape, const float* b, void* to);
void pack_right(const Gemm& shape, const double* b, void* to);

/// `bias` [n] is added to each row and may be null. Uses our own kernels on CPUs with AVX2 unless A has only a row or
/// two (blocked_product.h), else OpenBLAS.
void gemm(const Gemm& shape, const float* a, const float* b, float* c, const float* bias = nullptr);
void gemm(const Gemm& shape, const double* a, const double* b, double* c, const double* bias = nullptr);

/// Most products that are launched together.
inline constexpr int kMostGemms = 3;
/// The other operands of products of one A with several B of the same size: C[i] = op(A) op(B[i]) + bias[i].
template <class T>
struct GemmsOfOneA {
  int count = 1;
  const T* b[kMostGemms] = {};
  const T* bias[kMostGemms] = {};  ///< all null or none
  T* c[kMostGemms] = {};

  /// `size` of them from `begin` on.
  GemmsOfOneA part(int begin, int size) const {
    GemmsOfOneA some{.count = size};
    for (int i = 0; i < size; ++i) {
      some.b[i] = b[begin + i];
      some.bias[i] = bias[begin + i];
      some.c[i] = c[begin + i];
    }
    return some;
  }
};

/// The products that operations use.
template <class T>
struct ProductKernels {
  /// gemm() above.
  void (*gemm)(const Gemm& shape, const T* a, const T* b, T* c, const T* bias);
  /// One product per batch element, with the strides of A, B and C in elements. Small products run in parallel on one
  /// thread each, large ones one after the other on all threads. Products must not overlap in C.
  void (*gemm_batched)(const Gemm& shape, const Broadcast& batch, const T* a, const T* b, T* c);
  /// One product of bf16 operands whose results and row sums are f32; null for others.
  void (*gemm_to_sums)(const Gemm& shape, const T* a, const T* b, Sum<T>* c) = nullptr;

  // Products that are launched late (ops/deferred/product.h); null where none are.
  /// C = op(A) op(B) + bias + addend, with the addend laid out as C and not overlapping it. The bias may be null.
  void (*gemm_add)(const Gemm& shape, const T* a, const T* b, const T* bias, const T* addend, T* c) = nullptr;
  /// Returns false, having done nothing, if they would be launched one by one.
  bool (*gemm_each)(const Gemm& shape, const T* a, const GemmsOfOneA<T>& others) = nullptr;
};
TAPE_COMMON_KERNEL_TABLE(ProductKernels, products)

// Products of 16-bit operands, whose results are f32 sums rounded once.
TAPE_COMMON_TABLE(ProductKernels<Half>, products_f16)
TAPE_COMMON_TABLE(ProductKernels<BFloat16>, products_bf16)
TAPE_DEVICE_TABLE(ProductKernels<Half>, products_f16)
TAPE_DEVICE_TABLE(ProductKernels<BFloat16>, products_bf16)
template <>
inline const ProductKernels<Half>& products<Half>(const Target& target) {
  return products_f16(target);
}
template <>
inline const ProductKernels<BFloat16>& products<BFloat16>(const Target& target) {
  return products_bf16(target);
}

/// One product whose results and row sums are sums: f32 for bf16 operands, else of the operands' type.
template <class T>
void gemm_to_sums(const Target& target, const Gemm& shape, const T* a, const T* b, Sum<T>* c) {
  if constexpr (std::is_floating_point_v<T>)
    products<T>(target).gemm(shape, a, b, c, nullptr);
  else
    products<T>(target).gemm_to_sums(shape, a, b, c);
}

/// Whether a target has products of 16-bit operands. The CPU's are products of their values in f32.
inline bool has_half_products(const Target& target) { return target.device.is_cuda(); }

}  // namespace tape::kernels
