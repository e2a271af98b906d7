#include "autograd/kernels/product/common/blas.h"

#include <string>

#include "base/error.h"

namespace tape::kernels {
namespace {

/// Products of a few rows, which the blocked product does not take: rows of B are added, or multiplied by rows of A, so
/// that the inner loop is contiguous.
template <class T>
void product(const Gemm& s, const T* a, const T* b, T* c) {
  const auto left = [&](int64_t i, int64_t k) { return s.transpose_a ? a[k * s.lda + i] : a[i * s.lda + k]; };
  for (int64_t i = 0; i < s.m; ++i) {
    T* const row = c + i * s.ldc;
    if (!s.accumulate)
      for (int64_t j = 0; j < s.n; ++j) row[j] = 0;
    for (int64_t j = 0; s.transpose_b && j < s.n; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < s.k; ++k) sum += left(i, k) * b[j * s.ldb + k];
      row[j] += sum;
    }
    for (int64_t k = 0; !s.transpose_b && k < s.k; ++k) {
      const T factor = left(i, k);
      for (int64_t j = 0; j < s.n; ++j) row[j] += factor * b[k * s.ldb + j];
    }
  }
}

}  // namespace

void* blas_function(const char* name) { raise(ErrorKind::io, "{}: WebAssembly has no OpenBLAS", name); }

SingleThreadedBlas::SingleThreadedBlas() : before_(1) {}
SingleThreadedBlas::~SingleThreadedBlas() = default;

void blas_gemm(const Gemm& shape, const float* a, const float* b, float* c) { product(shape, a, b, c); }
void blas_gemm(const Gemm& shape, const double* a, const double* b, double* c) { product(shape, a, b, c); }

BlasInfo blas_info() {
  return {.version = "no OpenBLAS", .core = "none", .threading = "WebAssembly has no OpenBLAS", .overridden = false};
}

}  // namespace tape::kernels
