#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/kernels/product/common/bf16_road.h"
#include "autograd/kernels/runtime/common/threads.h"

namespace tape::kernels::testing {

struct Way {
  Bf16Road road;
  MatmulPrecision precision;
};

/// Roads that run on this CPU, the emulation on every one, and what they offer.
inline std::vector<Way> ways() {
  using enum MatmulPrecision;
  std::vector<Way> all{{Bf16Road::emulated_tiles, medium}, {Bf16Road::emulated_tiles, high}};
  if (supported_bf16_road() >= Bf16Road::avx512) all.push_back({Bf16Road::avx512, medium});
  if (supported_bf16_road() >= Bf16Road::tiles)
    all.insert(all.end(), {{Bf16Road::tiles, medium}, {Bf16Road::tiles, high}});
  return all;
}

inline std::string way_name(const ::testing::TestParamInfo<Way>& way) {
  const Bf16Road road = way.param.road;
  const char* name = road == Bf16Road::avx512 ? "avx512" : road == Bf16Road::tiles ? "tiles" : "emulated_tiles";
  return fmt::format("{}_{}", name, to_string(way.param.precision));
}

/// Sets a road until the test ends, and puts back the number of threads.
class RoadScope {
 public:
  explicit RoadScope(Bf16Road road) { set_bf16_road(road); }
  ~RoadScope() {
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
