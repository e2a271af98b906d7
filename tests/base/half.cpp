#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tape {
namespace {

template <class T>
T of_bits(uint16_t bits) {
  T value;
  value.bits = bits;
  return value;
}

/// Each of the 65,536 values survives the round trip; values between two neighbors round to the nearer one, ties to
/// even.
template <class T>
void expect_nearest(uint16_t infinity) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const T value = of_bits<T>(static_cast<uint16_t>(bits));
    const auto x = static_cast<float>(value);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(x))));
      continue;
    }
    EXPECT_EQ(T(x).bits, bits);
    if ((bits & 0x7FFF) >= infinity - 1u) continue;
    const T next = of_bits<T>(static_cast<uint16_t>(bits + 1));
    const double middle = (static_cast<double>(x) + static_cast<double>(static_cast<float>(next))) / 2;
    const auto tie = static_cast<float>(middle);
    if (static_cast<double>(tie) != middle) continue;  // below the smallest f32
    EXPECT_EQ(T(tie).bits, bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(T(std::nextafter(tie, 0.0f)).bits, bits) << bits;
    EXPECT_EQ(T(std::nextafter(tie, bits & 0x8000 ? -INFINITY : INFINITY)).bits, bits + 1) << bits;
  }
}

TEST(Half, RoundTripsEveryValueAndRoundsOthersToNearestEven) { expect_nearest<Half>(0x7C00); }

TEST(BFloat16, RoundTripsEveryValueAndRoundsOthersToNearestEven) { expect_nearest<BFloat16>(0x7F80); }

TEST(Half, BecomesInfiniteBeyondItsRange) {
  EXPECT_EQ(static_cast<float>(Half(65519.99f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Half(65520)), INFINITY);
  EXPECT_EQ(static_cast<float>(Half(-1e300)), -INFINITY);
  EXPECT_EQ(static_cast<float>(BFloat16(std::numeric_limits<float>::max())), INFINITY);
}

}  // namespace
}  // namespace tape
