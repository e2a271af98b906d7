#pragma once

#include <optional>
#include <string>

#include "../autograd/kernels/isa.h"

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

/// What to tell where OpenBLAS runs kernels made for a lesser CPU than this one.
std::optional<std::string> weak_blas_warning();
/// The same for a core that OpenBLAS chose, or was told to use (`overridden`), on a CPU of the level.
std::optional<std::string> weak_blas_warning(const std::string& core, kernels::Isa cpu, bool overridden);

/// The number of threads for kernels and BLAS; Error (config) unless it is at least 1.
void set_threads(int threads);

}  // namespace tape::train
