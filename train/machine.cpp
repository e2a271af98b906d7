#include "train/machine.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "autograd/kernels/gemm.h"
#include "base/error.h"
#include "base/version.h"

namespace tape::train {
namespace {

/// The level that OpenBLAS's kernels for a core need.
kernels::Isa level_of_core(const std::string& core) {
  using kernels::Isa;
  constexpr std::array avx512{"SkylakeX", "Cooperlake", "SapphireRapids", "Zen4", "Zen5"};
  constexpr std::array avx2{"Haswell", "Zen", "Excavator"};
  const auto is_core = [&](const char* name) { return core == name; };
  if (std::any_of(avx512.begin(), avx512.end(), is_core)) return Isa::v4;
  return std::any_of(avx2.begin(), avx2.end(), is_core) ? Isa::v3 : Isa::v2;
}

}  // namespace

Machine machine() {
  const kernels::BlasInfo blas = kernels::blas_info();
  return {.version = std::string(version()),
          .cpu = kernels::cpu_name(),
          .kernels = std::string(kernels::to_string(kernels::isa())),
          .blas = fmt::format("{} ({})", blas.version, blas.threading),
          .blas_core = blas.core,
          .blas_core_overridden = blas.overridden,
          .threads = kernels::num_threads()};
}

std::string to_string(const Machine& m) {
  return fmt::format("tapeformer {}, {}, kernels {}, {} core {}{}, {} thread{}", m.version, m.cpu, m.kernels, m.blas,
                     m.blas_core, m.blas_core_overridden ? " (by OPENBLAS_CORETYPE)" : "", m.threads,
                     m.threads == 1 ? "" : "s");
}

std::optional<std::string> weak_blas_warning() {
  const kernels::BlasInfo blas = kernels::blas_info();
  return weak_blas_warning(blas.core, kernels::supported_isa(), blas.overridden);
}

std::optional<std::string> weak_blas_warning(const std::string& core, kernels::Isa cpu, bool overridden) {
  if (cpu == kernels::Isa::portable || level_of_core(core) >= cpu) return std::nullopt;
  if (overridden)
    return fmt::format(
        "OPENBLAS_CORETYPE makes OpenBLAS use {} kernels, below what this CPU can run; unset it for speed", core);
  return fmt::format("OpenBLAS chose {} kernels, below what this CPU can run; try OPENBLAS_CORETYPE={}", core,
                     cpu == kernels::Isa::v4 ? "SkylakeX" : "Haswell");
}

void set_threads(int threads) {
  if (threads < 1) raise(ErrorKind::config, "threads: must be at least 1, got {}", threads);
  kernels::set_num_threads(threads);
}

}  // namespace tape::train
