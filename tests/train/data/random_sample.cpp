#include "train/data/random_sample.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

namespace tape::train {
namespace {

using testing::ElementsAre;

TEST(RandomSample, DrawsEveryIndexEquallyOften) {
  constexpr size_t kCount = 10, kMost = 3, kTries = 3000;
  std::vector<double> times(kCount);
  for (uint64_t seed = 0; seed < kTries; ++seed) {
    const RandomSample sample = random_sample(kCount, kMost, seed, "lines");
    ASSERT_EQ(sample.places.size(), kMost);
    ASSERT_TRUE(std::ranges::is_sorted(sample.places, std::less_equal<>()));
    for (const size_t place : sample.places) ++times.at(place);
  }
  const double expected = kTries * kMost / static_cast<double>(kCount);
  for (const double drawn : times) EXPECT_NEAR(drawn, expected, 5 * std::sqrt(expected));
}

TEST(RandomSample, DependsOnlyOnTheSeedAndDescribesHowItWasDrawn) {
  const RandomSample sample = random_sample(500, 8, 1, "lines");
  EXPECT_EQ(sample.places, random_sample(500, 8, 1, "lines").places);
  EXPECT_NE(sample.places, random_sample(500, 8, 2, "lines").places);
  EXPECT_EQ(sample.drawn, "8 of 500 lines, drawn with seed 1");
  const RandomSample all = random_sample(3, 8, 1, "pairs");
  EXPECT_THAT(all.places, ElementsAre(0, 1, 2));
  EXPECT_EQ(all.drawn, "all 3 pairs");
  EXPECT_TRUE(random_sample(0, 8, 1, "pairs").places.empty());
}

}  // namespace
}  // namespace tape::train
