#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/cuda/emulation/emulation.h"
#include "tests/cuda/device_array.h"

// Entries of CUDA's kernel tables beside the CPU's, on the emulated device.

namespace tape::kernels {

using cuda_device::DeviceArray;

/// Values of a kind that kernels must treat as the CPU does, then values of a fixed pseudorandom sequence within
/// [low, high].
template <class T>
std::vector<T> special_and_random(int64_t count, double low = -3, double high = 3, uint32_t seed = 1) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::vector<T> special = {T(0),
                                  T(-0.0),
                                  T(1),
                                  T(-1),
                                  T(0.5),
                                  T(-2),
                                  T(2.5),
                                  infinity,
                                  -infinity,
                                  std::numeric_limits<T>::quiet_NaN(),
                                  T(50),
                                  T(-50),
                                  T(1e4),
                                  T(-2e4),
                                  std::numeric_limits<T>::max(),
                                  std::numeric_limits<T>::min()};
  std::vector<T> values(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761U + 1;
  for (size_t i = 0; i < values.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    values[i] = static_cast<T>(low + (high - low) * (state >> 8) / double(1 << 24));
    // Rotated by the seed, so that pairs of special values meet.
    if (count > 1 && i % 4 == 3) values[i] = special[(i / 4 * seed + i / 64) % special.size()];
  }
  return values;
}

/// The same without infinities, NaN and the largest values.
template <class T>
std::vector<T> random_values(int64_t count, double low = -3, double high = 3, uint32_t seed = 1) {
  std::vector<T> values(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761U + 1;
  for (T& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<T>(low + (high - low) * (state >> 8) / double(1 << 24));
  }
  return values;
}

/// Pseudorandom integers in [low, high).
inline std::vector<int64_t> random_integers(int64_t count, int64_t low, int64_t high, uint32_t seed = 1) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761U + 1;
  for (int64_t& value : values) {
    state = state * 1664525U + 1013904223U;
    value = low + static_cast<int64_t>(state >> 8) % (high - low);
  }
  return values;
}

/// Host memory of any type, also bool, as the CPU's kernels need it.
template <class T>
class HostArray {
 public:
  explicit HostArray(size_t count) : count_(count), data_(new T[count + 1]()) {}
  explicit HostArray(const std::vector<T>& values) : HostArray(values.size()) {
    for (size_t i = 0; i < count_; ++i) data_[i] = values[i];
  }
  T* get() { return data_.get(); }
  std::vector<T> values() const { return std::vector<T>(data_.get(), data_.get() + count_); }

 private:
  size_t count_;
  std::unique_ptr<T[]> data_;
};

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    const double tolerance = std::is_same_v<T, double> ? 1e-12 : 2e-6, x = static_cast<double>(a),
                 y = static_cast<double>(b);
    return std::abs(x - y) <= tolerance * std::max(1.0, std::max(std::abs(x), std::abs(y)));
  } else {
    return a == b;
  }
}

/// Expects the same values, within rounding.
template <class T>
void expect_same(const std::vector<T>& cpu, const std::vector<T>& cuda) {
  ASSERT_EQ(cpu.size(), cuda.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    ASSERT_TRUE(same<T>(cpu[i], cuda[i])) << "element " << i << ": cpu " << +cpu[i] << ", cuda " << +cuda[i];
  }
}

/// Bits of values, for comparisons of schedules.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Runs run(kernels of the CPU, host pointer) and run(kernels of CUDA, device pointer) on copies of `start`, under
/// each schedule, and expects the same values of `start` afterwards, and the same bits under each schedule.
template <class T, class Cpu, class Cuda>
void expect_same_results(cuda_device::emulation::EmulatedDevice& device, const std::vector<T>& start, const Cpu& cpu,
                         const Cuda& cuda) {
  HostArray<T> expected(start);
  cpu(expected.get());
  std::vector<T> first;
  for (int schedule = 0; schedule < 3; ++schedule) {
    SCOPED_TRACE("schedule " + std::to_string(schedule));
    device.set_schedule(schedule);
    const DeviceArray<T> result(start);
    cuda(result.get());
    const std::vector<T> values = result.values();
    expect_same(expected.values(), values);
    if (schedule == 0) first = values;
    EXPECT_TRUE(same_bits(first, values)) << "another schedule gives other bits";
  }
}

/// Bytes as flags: std::vector<bool> has no pointer.
inline bool* flags(uint8_t* bytes) { return reinterpret_cast<bool*>(bytes); }

/// Sizes of a tensor [outer, size, inner], and the number of indices per line, or of results.
struct Shape {
  int64_t outer, size, inner, count = 0;
};
inline std::string text(const Shape& s) {
  return "[" + std::to_string(s.outer) + ", " + std::to_string(s.size) + ", " + std::to_string(s.inner) + "], count " +
         std::to_string(s.count);
}

inline constexpr int64_t kCounts[] = {0, 1, 31, 33, 1000};

}  // namespace tape::kernels
