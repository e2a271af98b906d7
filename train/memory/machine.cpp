#include "train/memory/machine.h"

#include <fmt/core.h>

#include "autograd/devices.h"
#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/kernels/product/common/blas.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/options.h"
#include "base/error.h"
#include "base/version.h"

namespace tape::train {
Machine machine() {
  const kernels::BlasInfo blas = kernels::blas_info();
  return {.version = std::string(version()),
          .cpu = kernels::cpu_name(),
          .kernels = std::string(kernels::to_string(kernels::isa())),
          .blas = fmt::format("{} ({})", blas.version, blas.threading),
          .blas_core = blas.core,
          .blas_core_overridden = blas.overridden,
          .threads = kernels::num_threads(),
          .device = describe(default_device())};
}

std::string to_string(const Machine& m) {
  return fmt::format("tapeformer {}, {}, kernels {}, {} core {}{}, {} thread{}{}", m.version, m.cpu, m.kernels, m.blas,
                     m.blas_core, m.blas_core_overridden ? " (by OPENBLAS_CORETYPE)" : "", m.threads,
                     m.threads == 1 ? "" : "s", m.device == "cpu" ? "" : ", device " + m.device);
}

std::string products_in_use(MatmulPrecision asked) {
  if (default_device().is_cpu()) return kernels::products_in_use(asked);
  switch (asked) {
    case MatmulPrecision::highest:
      return "f32";
    case MatmulPrecision::high:
      return "TF32";
    case MatmulPrecision::medium:
      return "bf16 activations, else TF32";
  }
  return "";
}

void set_threads(int threads) {
  if (threads < 1) raise(ErrorKind::config, "threads: must be at least 1, got {}", threads);
  kernels::set_num_threads(threads);
}

}  // namespace tape::train
