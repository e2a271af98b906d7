#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "autograd/cuda/emulation/emulation.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "tests/cuda/device_array.h"

// Entries of CUDA's kernel tables on the emulated device, compared with those of the CPU.

namespace tape::beside_cpu {

template <class T>
using Array = std::vector<T>;
using cuda_device::DeviceArray;

inline constexpr kernels::Target kOnDevice{Device(Device::Kind::cuda, 0)};
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Array from -2 to 2.
template <class T>
Array<T> random_values(int64_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(-2, 2);
  Array<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(distribution(engine));
  return values;
}
/// The same with every `step`-th value replaced by the special ones in turn.
template <class T>
Array<T> with_specials(int64_t n, uint32_t seed, const std::vector<double>& specials, size_t step = 5) {
  Array<T> values = random_values<T>(n, seed);
  for (size_t i = 0, next = 0; i < values.size(); i += step)
    values[i] = static_cast<T>(specials[next++ % specials.size()]);
  return values;
}

/// The largest difference from the CPU's value, relative to the value plus `size`. Equal infinities and two NaN agree.
template <class T>
void expect_close(const Array<T>& device, const Array<T>& cpu, const char* what, double size = 1,
                  double tolerance = std::is_same_v<T, float> ? 4e-6 : 1e-12) {
  ASSERT_EQ(device.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    const double a = static_cast<double>(device[i]), b = static_cast<double>(cpu[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), tolerance * (std::abs(b) + size)) << what << ": value " << i << " of " << cpu.size();
  }
}
template <class T>
void expect_same_bits(const Array<T>& a, const Array<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(T)), 0) << what << ": value " << i << " is " << a[i] << ", not " << b[i];
}

/// Tests of a table for both types.
template <class T>
class KernelTest : public testing::Test {
 protected:
  /// The result of run() on the device, which must have the same bits in every schedule.
  template <class Run>
  auto on_device(const Run& run) {
    device_.set_schedule(0);
    auto result = run();
    for (int schedule : {1, 2}) {
      device_.set_schedule(schedule);
      expect_same_bits(run(), result, "schedules");
    }
    return result;
  }

 private:
  cuda_device::emulation::EmulatedDevice device_;
};
using BothTypes = testing::Types<float, double>;

/// [outer, size, inner]
struct AxisShape {
  int64_t outer, size, inner;
  int64_t count() const { return outer * size * inner; }
  int64_t lines() const { return outer * inner; }
};
/// Lines of one thread, of a warp and of a block, in one and in several parts.
inline const std::vector<AxisShape> kAxisShapes = {{0, 5, 1},    {3, 1, 1},    {5, 3, 1},    {2, 31, 1}, {9, 33, 1},
                                                   {3, 1000, 1}, {2, 1100, 1}, {1, 9000, 1}, {3, 5, 2},  {2, 40, 3},
                                                   {2, 33, 17},  {1, 600, 33}, {4, 7, 64}};

}  // namespace tape::beside_cpu
