#pragma once

#include <cstdint>
#include <iosfwd>

#include "autograd/diagnose/profile.h"
#include "autograd/kernels/product/matmul_precision.h"

namespace tape::tools {

/// Measured peak rates of a GPU, or of this machine with the threads in use.
struct Peaks {
  double gflops = 0;  ///< of matrix products
  double gbytes = 0;  ///< of memory, read and written
};

/// Measures both on the default device in about half a second; `precision` is that of the products.
Peaks measure_peaks(MatmulPrecision precision);

/// Rate of Y [m, n] = X [m, k] W^T in GFLOP/s, the best of several rounds.
double product_rate(int64_t m, int64_t n, int64_t k, MatmulPrecision precision);

/// Prints a table of the cost of each operation per step on a device, most expensive first: share of the time, calls,
/// rates, and the share of the peak rate (of products for matrix products, else of memory; above 100% in a cache). On a
/// GPU the time is that of the GPU, and the host's follows in a column of its own.
void print_profile(std::ostream& out, Device device, const Profile::Costs& costs, int64_t steps, const Peaks& peaks);

}  // namespace tape::tools
