#pragma once

#include <string>

namespace tape::train {

/// What the numbers of a run depend on.
struct Machine {
  std::string version;  ///< of the library
  std::string cpu;
  std::string kernels;                ///< level of our own kernels: "v2", "v3", "v4" or "portable"
  std::string blas;                   ///< "OpenBLAS 0.3.21 (openmp)"
  std::string blas_core;              ///< the kernels it chose: "Cooperlake"
  bool blas_core_overridden = false;  ///< by OPENBLAS_CORETYPE
  int threads = 1;
};
Machine machine();

/// One line for the banner of a run.
std::string to_string(const Machine& machine);

/// The number of threads for kernels and BLAS; Error (config) unless it is at least 1.
void set_threads(int threads);

}  // namespace tape::train
