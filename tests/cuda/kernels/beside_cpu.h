#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/kernels/runtime/common/isa.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/test_device.h"

// Entries of CUDA's kernel tables on the test device (the emulated one or a GPU), compared with those of the CPU.

namespace tape::beside_cpu {

template <class T>
using Array = std::vector<T>;
using cuda_device::DeviceArray;
using cuda_device::TestDevice;

inline constexpr kernels::Target kOnDevice{Device(Device::Kind::cuda, 0)};
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Values from `low` to `high`.
template <class T>
Array<T> random_values(int64_t n, uint32_t seed = 1, double low = -2, double high = 2) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  Array<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(distribution(engine));
  return values;
}
/// Integers in [low, high).
inline Array<int64_t> random_integers(int64_t n, int64_t low, int64_t high, uint32_t seed = 1) {
  std::mt19937 engine(seed);
  Array<int64_t> values(static_cast<size_t>(n));
  for (int64_t& value : values) value = low + static_cast<int64_t>(engine()) % (high - low);
  return values;
}
/// Random values with every `step`-th one replaced by the special ones in turn.
template <class T>
Array<T> with_specials(int64_t n, uint32_t seed, const std::vector<double>& specials, size_t step = 5) {
  Array<T> values = random_values<T>(n, seed);
  for (size_t i = 0, next = 0; i < values.size(); i += step)
    values[i] = static_cast<T>(specials[next++ % specials.size()]);
  return values;
}
/// Random values, of which every fourth is one of a kind that kernels must treat as the CPU does. Other seeds have them
/// in another order, so that all pairs of them meet.
template <class T>
Array<T> special_and_random(int64_t n, uint32_t seed = 1, double low = -3, double high = 3) {
  using Limits = std::numeric_limits<T>;
  const Array<T> special = {T(0),
                            T(-0.0),
                            T(1),
                            T(-1),
                            T(0.5),
                            T(-2),
                            T(2.5),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            T(50),
                            T(-50),
                            T(1e4),
                            T(-2e4),
                            Limits::max(),
                            Limits::min()};
  Array<T> values = random_values<T>(n, seed, low, high);
  for (size_t i = 3; i < values.size(); i += 4) values[i] = special[(i / 4 * seed + i / 64) % special.size()];
  return values;
}

/// Rounding errors of a few operations.
template <class T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-12 : 4e-6;

/// Expects that each value differs from the CPU's by at most test_tolerance(tolerance) times its magnitude plus
/// `size`; integers,
/// infinities and NaN must be equal.
template <class T>
void expect_close(const Array<T>& device, const Array<T>& cpu, const char* what, double size = 1,
                  double tolerance = kTolerance<T>) {
  ASSERT_EQ(device.size(), cpu.size());
  const double allowed = cuda_device::test_tolerance(tolerance);
  for (size_t i = 0; i < cpu.size(); ++i) {
    if (device[i] == cpu[i]) continue;
    bool close = false;
    if constexpr (std::is_floating_point_v<T>) {
      const double a = static_cast<double>(device[i]), b = static_cast<double>(cpu[i]);
      close = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) <= allowed * (std::abs(b) + size)
                                                   : std::isnan(a) && std::isnan(b);
    }
    ASSERT_TRUE(close) << what << ": value " << i << " of " << cpu.size() << " is " << +device[i] << ", on the CPU "
                       << +cpu[i];
  }
}
template <class T>
void expect_same_bits(const Array<T>& a, const Array<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(T)), 0)
        << what << ": value " << i << " is " << +a[i] << ", not " << +b[i];
}

/// The result of run(), which must have the same bits in every schedule, and in three runs on a GPU.
template <class Run>
auto in_every_schedule(TestDevice& device, const Run& run) {
  device.set_schedule(0);
  auto result = run();
  for (int schedule : {1, 2}) {
    device.set_schedule(schedule);
    expect_same_bits(run(), result, "schedules");
  }
  return result;
}
/// Runs cpu(pointer) on a copy of `start` and cuda(pointer) on one in device memory, and expects the same values.
template <class T, class Cpu, class Cuda>
void expect_same_results(TestDevice& device, const Array<T>& start, const Cpu& cpu, const Cuda& cuda) {
  Array<T> expected = start;
  cpu(expected.data());
  const Array<T> actual = in_every_schedule(device, [&] {
    const DeviceArray<T> result(start);
    cuda(result.get());
    return result.values();
  });
  expect_close(actual, expected, "result");
}

/// Tests of a table for both types.
template <class T>
class KernelTest : public testing::Test {
 protected:
  explicit KernelTest(const cuda_device::emulation::EmulatedDeviceOptions& options = {}) : device(options) {}

  template <class Run>
  auto on_device(const Run& run) {
    return in_every_schedule(device, run);
  }

  TestDevice device;
};
using BothTypes = testing::Types<float, double>;

/// Bytes as flags: std::vector<bool> has no pointer.
inline bool* flags(uint8_t* bytes) { return reinterpret_cast<bool*>(bytes); }
inline const bool* flags(const uint8_t* bytes) { return reinterpret_cast<const bool*>(bytes); }

/// [outer, size, inner], and the number of indices per line, or of results.
struct AxisShape {
  int64_t outer, size, inner, count = 0;
  int64_t elements() const { return outer * size * inner; }
  int64_t lines() const { return outer * inner; }
};
inline std::string text(const AxisShape& s) {
  return "[" + std::to_string(s.outer) + ", " + std::to_string(s.size) + ", " + std::to_string(s.inner) + "], count " +
         std::to_string(s.count);
}
/// Lines of one thread, of a warp and of a block, in one and in several parts.
inline const std::vector<AxisShape> kAxisShapes = {{0, 5, 1},    {3, 1, 1},    {5, 3, 1},    {2, 31, 1}, {9, 33, 1},
                                                   {3, 1000, 1}, {2, 1100, 1}, {1, 9000, 1}, {3, 5, 2},  {2, 40, 3},
                                                   {2, 33, 17},  {1, 600, 33}, {4, 7, 64}};
/// Numbers of elements.
inline constexpr int64_t kCounts[] = {0, 1, 31, 33, 1000};

}  // namespace tape::beside_cpu
