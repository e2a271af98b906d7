#pragma once

#include <cstdint>
#include <iosfwd>

#include "autograd/diagnose/profile.h"
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

/// A table of what each operation costs a step, the dearest first: share of the time, calls, the rates it reached, and
/// their share of the peak: of products where it multiplies matrices, else of memory (above 100% in a cache).
void print_profile(std::ostream& out, const Profile::Costs& costs, int64_t steps, const Peaks& peaks);

}  // namespace tape::tools
