#pragma once

#include <string>

#include "gemm.h"

namespace tape::kernels {

// OpenBLAS is loaded when it is needed first: for small products that our kernels do not take, on CPUs without AVX2,
// and for linear algebra (lapack.cpp).

/// The product of gemm() by OpenBLAS, on the thread that calls. Throws Error (io) where OpenBLAS cannot be loaded,
/// (out_of_memory) where there is no room for it.
void blas_gemm(const Gemm& shape, const float* a, const float* b, float* c);
void blas_gemm(const Gemm& shape, const double* a, const double* b, double* c);

/// A function of OpenBLAS by its name, "dpotrf_". Errors as blas_gemm().
void* blas_function(const char* name);

/// OpenBLAS on this thread alone, while in scope: its threads wait for each other several times within a product, and
/// hand the core to any other process while they do, where parts of ours wait once, at the end. Whoever calls OpenBLAS
/// has one: each thread that is in it at a time needs working memory. It sets the number of
/// threads in this library's OpenMP runtime and in the one OpenBLAS is linked with, which differ in a program built by
/// clang (libomp and libgomp). Errors as blas_gemm().
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  int before_, its_before_ = 0;
};

struct BlasInfo {
  std::string version;    ///< "OpenBLAS 0.3.21"; "no OpenBLAS" where it cannot be loaded
  std::string core;       ///< the kernels it chose: "Cooperlake", "Haswell", ...
  std::string threading;  ///< "openmp", "pthread" or "sequential"; why it cannot be loaded
  bool overridden;        ///< OPENBLAS_CORETYPE made the choice
};
BlasInfo blas_info();

}  // namespace tape::kernels
