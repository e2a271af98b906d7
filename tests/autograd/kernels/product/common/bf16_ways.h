#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/kernels/product/common/bf16_road.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "tests/support/emulated_tiles.h"

namespace tape::kernels::testing {

struct Way {
  Bf16Road road;
  MatmulPrecision precision;
  bool emulated = false;
};

/// Roads that run on this CPU, the emulation on every one, and what they offer.
inline std::vector<Way> ways() {
  using enum MatmulPrecision;
  std::vector<Way> all{{Bf16Road::tiles, medium, true}, {Bf16Road::tiles, high, true}};
  if (supported_bf16_road() >= Bf16Road::avx512) all.push_back({Bf16Road::avx512, medium});
  if (supported_bf16_road() >= Bf16Road::tiles)
    all.insert(all.end(), {{Bf16Road::tiles, medium}, {Bf16Road::tiles, high}});
  return all;
}

inline std::string way_name(const ::testing::TestParamInfo<Way>& way) {
  const char* name = way.param.road == Bf16Road::avx512 ? "avx512" : way.param.emulated ? "emulated_tiles" : "tiles";
  return fmt::format("{}_{}", name, to_string(way.param.precision));
}

/// Sets a road until the test ends, and puts back the number of threads.
class RoadScope {
 public:
  explicit RoadScope(Bf16Road road, bool emulated = false) {
    if (emulated) set_tile_kernels(&emulated_tiles());
    set_bf16_road(road);
  }
  explicit RoadScope(const Way& way) : RoadScope(way.road, way.emulated) {}
  ~RoadScope() {
    set_tile_kernels(nullptr);
    set_bf16_road(before_);
    set_num_threads(threads_before_);
  }
  RoadScope(const RoadScope&) = delete;
  RoadScope& operator=(const RoadScope&) = delete;

 private:
  Bf16Road before_ = bf16_road();
  int threads_before_ = num_threads();
};

}  // namespace tape::kernels::testing
