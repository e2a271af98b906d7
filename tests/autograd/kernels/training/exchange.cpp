#include "autograd/kernels/training/exchange.h"

#include <bit>
#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Exchange : public EveryLevel {};

template <class T, class Sum>
void check_sums(Sum sum) {
  for (const int64_t n : {0, 1, 15, 1024, 1025, 70000})
    for (const int64_t blocks : {1, 2, 3, 4}) {
      const int64_t stride = n + 5;
      std::vector<T> x = random_values<T>(stride * blocks, 1), y(static_cast<size_t>(n)), expected(y);
      for (size_t i = 0; i < y.size(); ++i) {
        expected[i] = x[i];
        for (int64_t b = 1; b < blocks; ++b) expected[i] += x[i + static_cast<size_t>(b * stride)];
      }
      sum(n, blocks, stride, x.data(), y.data());
      EXPECT_EQ(y, expected) << n << " values, " << blocks << " blocks";
      sum(n, blocks, stride, x.data(), x.data());
      x.resize(y.size());
      EXPECT_EQ(x, expected) << "in place over the first block";
    }
}
TEST_P(Exchange, SumsInTheOrderOfTheBlocks) {
  check_sums<float>(exchange().sum_f32);
  check_sums<double>(exchange().sum_f64);
}

uint16_t as_bf16(float x) {
  uint16_t y = 0;
  exchange().to_bf16(1, &x, &y);
  return y;
}
float as_float(uint16_t x) {
  float y = 0;
  exchange().from_bf16(1, &x, &y);
  return y;
}

TEST_P(Exchange, RoundsToTheNearestBf16TiesToEven) {
  constexpr float kStep = 0x1p-7F;  // spacing of bf16 between 1 and 2
  EXPECT_EQ(as_float(as_bf16(1 + kStep)), 1 + kStep);
  EXPECT_EQ(as_float(as_bf16(1 + 0.49F * kStep)), 1);
  EXPECT_EQ(as_float(as_bf16(1 + 0.51F * kStep)), 1 + kStep);
  EXPECT_EQ(as_float(as_bf16(1 + 0.5F * kStep)), 1) << "ties round to even, here down";
  EXPECT_EQ(as_float(as_bf16(1 + 1.5F * kStep)), 1 + 2 * kStep) << "ties round to even, here up";
  EXPECT_EQ(as_float(as_bf16(-0.0F)), 0.0F);
  EXPECT_TRUE(std::signbit(as_float(as_bf16(-0.0F))));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(as_float(as_bf16(-kInfinity)), -kInfinity);
  EXPECT_EQ(as_float(as_bf16(std::numeric_limits<float>::max())), kInfinity);
  for (const uint32_t nan : {0x7F800001U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU})
    EXPECT_TRUE(std::isnan(as_float(as_bf16(std::bit_cast<float>(nan))))) << nan;
}

TEST_P(Exchange, RoundTripsEveryBf16ThroughF32) {
  std::vector<uint16_t> all(65536), back(all.size());
  std::vector<float> floats(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  exchange().from_bf16(std::ssize(all), all.data(), floats.data());
  exchange().to_bf16(std::ssize(all), floats.data(), back.data());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(back[i], std::isnan(floats[i]) ? all[i] | 0x40 : all[i]) << i;
}

TEST_P(Exchange, ConversionsDoNotWritePastTheEnd) {
  const std::vector<float> x = random_values<float>(40, 1);
  std::vector<uint16_t> narrow(x.size() + 1, 7);
  exchange().to_bf16(std::ssize(x), x.data(), narrow.data());
  EXPECT_EQ(narrow.back(), 7);
  std::vector<float> wide(narrow.size(), 7);
  exchange().from_bf16(std::ssize(x), narrow.data(), wide.data());
  EXPECT_EQ(wide.back(), 7);
}

TEST_P(Exchange, RoundsSumsOfBf16Once) {
  const int64_t n = 3000, blocks = 3;
  const std::vector<float> x = random_values<float>(n * blocks, 1);
  std::vector<uint16_t> narrow(x.size()), sums(n);
  exchange().to_bf16(n * blocks, x.data(), narrow.data());
  exchange().sum_bf16(n, blocks, n, narrow.data(), sums.data());
  for (size_t i = 0; i < sums.size(); ++i) {
    const float exact = as_float(narrow[i]) + as_float(narrow[i + n]) + as_float(narrow[i + 2 * n]);
    EXPECT_EQ(sums[i], as_bf16(exact)) << i;
  }
}

TAPE_EVERY_LEVEL(Exchange);

}  // namespace
}  // namespace tape::kernels::testing
