#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/kernels/runtime/common/threads.h"

namespace tape::kernels::testing {

/// Every CPU level this machine can run.
inline std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (const Isa level : {Isa::portable, Isa::v2, Isa::v3, Isa::v4})
    if (has_level(level)) all.push_back(level);
  return all;
}

/// A test that runs once per level.
class EveryLevel : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    level_before_ = isa();
    threads_before_ = num_threads();
    set_isa(GetParam());
  }
  void TearDown() override {
    set_isa(level_before_);
    set_num_threads(threads_before_);
  }

 private:
  Isa level_before_ = Isa::portable;
  int threads_before_ = 1;
};

inline std::string level_name(const ::testing::TestParamInfo<Isa>& level) {
  return std::string(to_string(level.param));
}

#define TAPE_EVERY_LEVEL(Suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(Levels, Suite, ::testing::ValuesIn(::tape::kernels::testing::levels()), \
                           ::tape::kernels::testing::level_name)

template <class T>
std::vector<T> random_values(int64_t n, unsigned seed, double low = -2, double high = 2) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(uniform(engine));
  return values;
}

inline std::vector<int64_t> random_indices(int64_t n, unsigned seed, int64_t size) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<int64_t> uniform(0, size - 1);
  std::vector<int64_t> values(static_cast<size_t>(n));
  for (int64_t& value : values) value = uniform(engine);
  return values;
}

/// std::vector<bool> has no data().
class Flags {
 public:
  explicit Flags(int64_t n, bool value = false) : size_(static_cast<size_t>(n)), data_(new bool[size_ + 1]) {
    for (size_t i = 0; i < size_; ++i) data_[i] = value;
  }
  bool* data() { return data_.get(); }
  bool& operator[](int64_t i) { return data_[static_cast<size_t>(i)]; }
  bool operator[](int64_t i) const { return data_[static_cast<size_t>(i)]; }

 private:
  size_t size_;
  std::unique_ptr<bool[]> data_;
};

template <class T>
double tolerance(double f32, double f64) {
  return sizeof(T) == sizeof(float) ? f32 : f64;
}

/// Expects values within `bound` times (1 + |expected|), NaN equal to NaN, infinities equal; reports the first few that
/// differ.
template <class T, class W>
void expect_close(const std::vector<T>& got, const std::vector<W>& wanted, double bound, const std::string& what = "") {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  int shown = 0;
  for (size_t i = 0; i < got.size() && shown < 5; ++i) {
    const long double g = got[i], w = wanted[i];
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    if (std::abs(g - w) <= static_cast<long double>(bound) * (1 + std::abs(w)) && std::isfinite(w)) continue;
    ADD_FAILURE() << what << " [" << i << "]: got " << g << ", expected " << w;
    ++shown;
  }
}

/// Expects the same bits from compute() on one, two and four threads.
template <class Compute>
void expect_same_bits(const Compute& compute) {
  set_num_threads(1);
  const auto one = compute();
  for (const int threads : {2, 4}) {
    set_num_threads(threads);
    const auto several = compute();
    ASSERT_EQ(one.size(), several.size());
    if (one.empty()) return;
    EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(one[0])), 0) << threads << " threads";
  }
}

}  // namespace tape::kernels::testing
