#pragma once

#include <string>

#include "gemm.h"

namespace tape::kernels {

// OpenBLAS is loaded when it is needed first: for small products that our kernels do not take, and on CPUs without
// AVX2.

/// The product of gemm() by OpenBLAS, on the thread that calls. Throws Error (io) where OpenBLAS cannot be loaded,
/// (out_of_memory) where there is no room for it.
void blas_gemm(const Gemm& shape, const float* a, const float* b, float* c);
void blas_gemm(const Gemm& shape, const double* a, const double* b, double* c);

struct BlasInfo {
  std::string version;    ///< "OpenBLAS 0.3.21"; "no OpenBLAS" where it cannot be loaded
  std::string core;       ///< the kernels it chose: "Cooperlake", "Haswell", ...
  std::string threading;  ///< "openmp", "pthread" or "sequential"; why it cannot be loaded
  bool overridden;        ///< OPENBLAS_CORETYPE made the choice
};
BlasInfo blas_info();

}  // namespace tape::kernels
