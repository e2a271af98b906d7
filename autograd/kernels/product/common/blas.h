#pragma once

#include <string>

#include "gemm.h"

namespace tape::kernels {

// OpenBLAS is loaded on first use: for small products that our kernels do not handle, on x86 CPUs without AVX2, and
// for linear algebra (lapack.cpp).

/// The product of gemm() with OpenBLAS, on the calling thread. Throws Error (io) if OpenBLAS cannot be loaded,
/// (out_of_memory) if there is not enough memory for it.
void blas_gemm(const Gemm& shape, const float* a, const float* b, float* c);
void blas_gemm(const Gemm& shape, const double* a, const double* b, double* c);

/// An OpenBLAS function by name, such as "dpotrf_". Throws the errors of blas_gemm().
void* blas_function(const char* name);

/// Makes OpenBLAS single-threaded while in scope. Its threads synchronize several times per product and yield the core
/// to other processes while they wait; our own split synchronizes once, at the end. Every caller of OpenBLAS must hold
/// one, because each concurrent thread needs working memory. Sets the thread count in this library's OpenMP runtime and
/// in the one OpenBLAS is linked with, which differ in a program built by clang (libomp and libgomp). Throws the errors
/// of blas_gemm().
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  int before_, its_before_ = 0;
};

struct BlasInfo {
  std::string version;    ///< "OpenBLAS 0.3.21"; "no OpenBLAS" if it cannot be loaded
  std::string core;       ///< the kernels it selected: "Cooperlake", "Haswell", ...
  std::string threading;  ///< "openmp", "pthread" or "sequential", or the reason it cannot be loaded
  bool overridden;        ///< whether OPENBLAS_CORETYPE selected the kernels
};
BlasInfo blas_info();

}  // namespace tape::kernels
