#pragma once

#include <string>

#include "../../autograd/kernels/product/matmul_precision.h"

namespace tape::train {

/// What a run's speed and bits depend on.
struct Machine {
  std::string version;  ///< library version
  std::string cpu;
  std::string kernels;                ///< instruction set of our kernels: "v2", "v3", "v4" or "portable"
  std::string blas;                   ///< "OpenBLAS 0.3.21 (openmp)"
  std::string blas_core;              ///< BLAS kernels in use: "Cooperlake"
  bool blas_core_overridden = false;  ///< whether OPENBLAS_CORETYPE selected them
  int threads = 1;
  std::string device = "cpu";  ///< default_device(), with the name of a GPU: describe()
};
Machine machine();

/// One line for the header of a run's output.
std::string to_string(const Machine& machine);

/// What multiplies matrices of f32 on default_device() if this precision is asked for: kernels::products_in_use() on
/// the CPU, "f32", "TF32" or "bf16 activations, else TF32" on a GPU.
std::string products_in_use(MatmulPrecision asked);

/// Sets the number of threads for kernels and BLAS. Throws Error (config) unless it is at least 1.
void set_threads(int threads);

}  // namespace tape::train
