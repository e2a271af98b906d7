#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "tests/support/emulated_tiles.h"

namespace tape::kernels::testing {

struct Bf16Config {
  Bf16Backend backend;
  MatmulPrecision precision;
  bool emulated = false;
};

/// The backends that run on this CPU, with the precisions they offer; the emulation runs on every CPU.
inline std::vector<Bf16Config> bf16_configs() {
  using enum MatmulPrecision;
  std::vector<Bf16Config> all{{Bf16Backend::tiles, medium, true}, {Bf16Backend::tiles, high, true}};
  if (supported_bf16_backend() >= Bf16Backend::avx512) all.push_back({Bf16Backend::avx512, medium});
  if (supported_bf16_backend() >= Bf16Backend::tiles)
    all.insert(all.end(), {{Bf16Backend::tiles, medium}, {Bf16Backend::tiles, high}});
  return all;
}

inline std::string bf16_config_name(const ::testing::TestParamInfo<Bf16Config>& config) {
  const char* name = config.param.backend == Bf16Backend::avx512 ? "avx512"
                     : config.param.emulated                     ? "emulated_tiles"
                                                                 : "tiles";
  return fmt::format("{}_{}", name, to_string(config.param.precision));
}

/// Sets a backend until the test ends, then restores it and the thread count.
class BackendScope {
 public:
  explicit BackendScope(Bf16Backend backend, bool emulated = false) {
    if (emulated) set_tile_kernels(&emulated_tiles());
    set_bf16_backend(backend);
  }
  explicit BackendScope(const Bf16Config& config) : BackendScope(config.backend, config.emulated) {}
  ~BackendScope() {
    set_tile_kernels(nullptr);
    set_bf16_backend(before_);
    set_num_threads(threads_before_);
  }
  BackendScope(const BackendScope&) = delete;
  BackendScope& operator=(const BackendScope&) = delete;

 private:
  Bf16Backend before_ = bf16_backend();
  int threads_before_ = num_threads();
};

}  // namespace tape::kernels::testing
