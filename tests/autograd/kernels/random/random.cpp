#include "autograd/kernels/random/random.h"

#include <cmath>
#include <limits>

#include "autograd/kernels/random/common/random_draw.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Random : public EveryLevel {};
const uint64_t kCounters[] = {0, 1, 2, 3, 4, 1000003, (uint64_t{1} << 34) - 5, ~uint64_t{0} - 20};
const int64_t kSizes[] = {0, 1, 2, 3, 5, 63, 64, 65, 1023, 1025, 50001};
constexpr uint64_t kSeed = 0x0123456789abcdef;

TEST_P(Random, UniformIsDefinedElementwise) {
  for (const uint64_t counter : kCounters)
    for (const int64_t n : kSizes) {
      std::vector<float> y(static_cast<size_t>(n)), wanted(y.size());
      std::vector<double> y64(y.size()), wanted64(y.size());
      random<float>().uniform(n, kSeed, counter, 0, 1, y.data());
      random<double>().uniform(n, kSeed, counter, -1, 3, y64.data());
      for (size_t i = 0; i < y.size(); ++i) {
        wanted[i] = static_cast<float>(philox_draw(kSeed, counter + i) >> 8) * 0x1p-24F;
        wanted64[i] = -1 + 4 * (static_cast<double>(philox_draw64(kSeed, counter + i) >> 11) * 0x1p-53);
      }
      ASSERT_EQ(y, wanted) << counter << " " << n;
      ASSERT_EQ(y64, wanted64) << counter << " " << n;
    }
}

TEST_P(Random, UniformNeverReachesItsUpperBound) {
  const float low = 1, high = std::nextafter(1.0F, 2.0F);  // only two values to round to
  std::vector<float> y(5000);
  random<float>().uniform(5000, 1, 0, low, high, y.data());
  for (const float v : y) ASSERT_EQ(v, low);
}

/// Box-Muller from the 64-bit draws of a pair of elements.
double exact_normal(uint64_t seed, uint64_t element) {
  const double radius_draw = static_cast<double>(philox_draw64(seed, element & ~uint64_t{1}) >> 11) * 0x1p-53 + 0x1p-53;
  const long double turn = static_cast<double>(philox_draw64(seed, element | 1) >> 11) * 0x1p-53L;
  const long double radius = std::sqrt(-2 * std::log(static_cast<long double>(radius_draw))),
                    angle = 2 * std::acos(-1.0L) * turn;
  return static_cast<double>(radius * (element & 1 ? std::sin(angle) : std::cos(angle)));
}

TEST_P(Random, NormalIsDefinedElementwise) {
  for (const uint64_t counter : kCounters)
    for (const int64_t n : kSizes) {
      std::vector<double> y(static_cast<size_t>(n)), wanted;
      std::vector<float> y32(y.size()), rounded;
      random<double>().normal(n, kSeed, counter, 0.5, 2, y.data());
      random<float>().normal(n, kSeed, counter, 0.5F, 2, y32.data());
      for (size_t i = 0; i < y.size(); ++i) {
        wanted.push_back(0.5 + 2 * exact_normal(kSeed, counter + i));
        rounded.push_back(static_cast<float>(y[i]));
      }
      expect_close(y, wanted, 2e-15, "normal from " + std::to_string(counter));
      ASSERT_EQ(y32, rounded);
    }
}

TEST_P(Random, NormalIsBitwiseEqualAtEveryLevel) {
  std::vector<double> here(4000), lowest(4000);
  random<double>().normal(4000, kSeed, 7, 0.1, 0.02, here.data());
  set_isa(levels().front());
  random<double>().normal(4000, kSeed, 7, 0.1, 0.02, lowest.data());
  EXPECT_EQ(here, lowest);
}

TEST_P(Random, NormalHasNormalMoments) {
  const int64_t n = 200000;
  std::vector<double> y(static_cast<size_t>(n));
  random<double>().normal(n, 3, 0, 0, 1, y.data());
  double moments[5] = {};
  for (const double v : y)
    for (int p = 1; p <= 4; ++p) moments[p] += std::pow(v, p) / static_cast<double>(n);
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.02);
  EXPECT_NEAR(moments[3], 0, 0.04);
  EXPECT_NEAR(moments[4], 3, 0.1);
}

/// The 64-bit draw as a value in (0, 1).
long double inside_unit(uint64_t element) {
  return (static_cast<long double>(philox_draw64(kSeed, element) >> 12) + 0.5L) * 0x1p-52L;
}

TEST_P(Random, ExponentialGumbelAndBernoulliAreDefinedElementwise) {
  for (const uint64_t counter : kCounters)
    for (const int64_t n : kSizes) {
      std::vector<double> p = random_values<double>(n, 5, 0, 1);
      if (n > 1)
        p[1] = static_cast<double>(philox_draw64(kSeed, counter + 1) >> 11) * 0x1p-53;  // a draw is not below itself
      std::vector<double> e(p.size()), g(e), b(e), wanted_e, wanted_g, wanted_b;
      std::vector<float> e32(e.size()), g32(e32), rounded_e, rounded_g;
      random<double>().exponential(n, kSeed, counter, 2.5, e.data());
      random<double>().gumbel(n, kSeed, counter, g.data());
      random<double>().bernoulli(n, kSeed, counter, p.data(), b.data());
      random<float>().exponential(n, kSeed, counter, 2.5, e32.data());
      random<float>().gumbel(n, kSeed, counter, g32.data());
      for (size_t i = 0; i < e.size(); ++i) {
        const long double drawn = -std::log(inside_unit(counter + i));
        wanted_e.push_back(static_cast<double>(drawn / 2.5L));
        wanted_g.push_back(static_cast<double>(-std::log(drawn)));
        wanted_b.push_back(static_cast<double>(philox_draw64(kSeed, counter + i) >> 11) * 0x1p-53 < p[i]);
        rounded_e.push_back(static_cast<float>(e[i]));
        rounded_g.push_back(static_cast<float>(g[i]));
      }
      expect_close(e, wanted_e, 1e-15, "exponential from " + std::to_string(counter));
      expect_close(g, wanted_g, 1e-15, "gumbel from " + std::to_string(counter));
      ASSERT_EQ(b, wanted_b);
      ASSERT_EQ(e32, rounded_e);
      ASSERT_EQ(g32, rounded_g);
    }
}

TEST_P(Random, ExponentialAndGumbelAreBitwiseEqualAtEveryLevel) {
  const auto both = [] {
    std::vector<double> y(8000);
    random<double>().exponential(4000, kSeed, 7, 0.3, y.data());
    random<double>().gumbel(4000, kSeed, 7, y.data() + 4000);
    return y;
  };
  const std::vector<double> here = both();
  set_isa(levels().front());
  EXPECT_EQ(here, both());
}

template <class T>
void check_dropout() {
  for (const uint64_t counter : kCounters)
    for (const int64_t n : kSizes)
      for (const double p : {0.0, 0.1, 0.5, 1.0}) {
        std::vector<T> x = random_values<T>(n, 1), y(x.size()), wanted;
        for (size_t i = 0; i < x.size(); ++i) {
          const bool kept = static_cast<double>(philox_draw(kSeed, counter + i)) >= p * 4294967296.0;
          wanted.push_back(kept ? x[i] / static_cast<T>(1 - p) : T(0));
        }
        random<T>().dropout(n, kSeed, counter, p, x.data(), y.data());
        expect_close(y, wanted, tolerance<T>(3e-7, 1e-15), "dropout " + std::to_string(p));
        for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i] == 0, wanted[i] == 0);
        random<T>().dropout(n, kSeed, counter, p, x.data(), x.data());
        EXPECT_EQ(x, y);
      }
}
TEST_P(Random, DropoutIsDefinedElementwise) {
  check_dropout<float>();
  check_dropout<double>();
}

TEST_P(Random, DroppedValuesAreZeroEvenForNaN) {
  const std::vector<float> x(100, std::nanf(""));
  std::vector<float> y(100, 1);
  random<float>().dropout(100, 1, 0, 1.0, x.data(), y.data());
  EXPECT_EQ(y, std::vector<float>(100, 0));
}

TEST_P(Random, IsBitwiseEqualForAnyThreadCount) {
  expect_same_bits([] {
    std::vector<float> y(200001);
    random<float>().normal(200001, 9, 5, 0, 1, y.data());
    return y;
  });
  expect_same_bits([] {
    std::vector<float> y(200001, 1);
    random<float>().dropout(200001, 9, 5, 0.3, y.data(), y.data());
    return y;
  });
}

TAPE_EVERY_LEVEL(Random);

}  // namespace
}  // namespace tape::kernels::testing
