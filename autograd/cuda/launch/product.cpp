#include "autograd/kernels/product/common/gemm.h"

#include "autograd/cuda/kernels/product_shape.h"
#include "autograd/cuda/launch/broadcast.h"
#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kProduct = TAPE_FLOAT_KERNELS(product);

template <class T>
void multiply(const Gemm& s, const Broadcast& plan, const T* a, const T* b, const T* bias, T* c) {
  constexpr int64_t kTile = 16;
  const ProductShape shape{s.m, s.n, s.k, s.lda, s.ldb, s.ldc, count(plan), s.transpose_a, s.transpose_b, s.accumulate};
  if (s.m == 0 || s.n == 0 || shape.batch == 0) return;
  const auto blocks = [](int64_t n) { return static_cast<uint32_t>(std::min<int64_t>(n, 65535)); };
  kProduct.of<T>()(
      {static_cast<uint32_t>(quotient_up(s.n, kTile)), blocks(quotient_up(s.m, kTile)), blocks(shape.batch)},
      {kTile, kTile}, shape, plan, a, b, bias, c);
}

template <class T>
void gemm(const Gemm& shape, const T* a, const T* b, T* c, const T* bias) {
  multiply(shape, {}, a, b, bias, c);
  // op(A) is transposed: its rows are the columns of A.
  if (shape.row_sums_a) sum_of_rows(shape.k, shape.m, shape.lda, a, static_cast<T*>(shape.row_sums_a));
}

template <class T>
void gemm_batched(const Gemm& shape, const Broadcast& batch, const T* a, const T* b, T* c) {
  multiply(shape, batch, a, b, static_cast<const T*>(nullptr), c);
}

}  // namespace

TAPE_DEFINE_TABLES(ProductKernels, products, .gemm = gemm<T>, .gemm_batched = gemm_batched<T>)

}  // namespace tape::kernels::cuda
