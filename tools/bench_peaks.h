#pragma once

#include <cstdint>

#include "autograd/kernels/product/matmul_precision.h"

namespace tape::tools {

/// The best rates that this machine was seen to reach, with the threads in use.
struct Peaks {
  double gflops = 0;  ///< of matrix products
  double gbytes = 0;  ///< of memory, read and written
};

/// Measures both, in about half a second; `precision`: of the products.
Peaks measure_peaks(MatmulPrecision precision);

/// Y [m, n] = X [m, k] W^T: the best of several rounds, in GFLOP/s.
double product_rate(int64_t m, int64_t n, int64_t k, MatmulPrecision precision);

}  // namespace tape::tools
