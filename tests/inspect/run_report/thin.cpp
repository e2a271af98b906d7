#include "inspect/run_report/thin.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

namespace tape::inspect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Thin, KeepsAllPointsIfThereAreFew) {
  EXPECT_THAT(thin({}, 10), IsEmpty());
  EXPECT_THAT(thin({{}}, 10), IsEmpty());
  EXPECT_THAT(thin({{5}}, 10), ElementsAre(0));
  EXPECT_THAT(thin({{1, 2, 3, 4, 5, 6}}, 2), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Thin, KeepsTheEndsAndTheExtremesOfEachBucket) {
  //                          bucket 0          |  bucket 1
  EXPECT_THAT(thin({{5, 5, 9, 5, 1, 5, 5, 5, 8, 5, 2, 5}}, 2), ElementsAre(0, 2, 4, 8, 10, 11));
}

TEST(Thin, KeepsTheExtremesOfEveryCurve) {
  std::vector<double> a(12, 5), b(12, 5);
  a[3] = 6;
  a[5] = 4;
  b[7] = 6;
  b[8] = 4;
  EXPECT_THAT(thin({a, b}, 1), ElementsAre(0, 3, 5, 7, 8, 11));
}

TEST(Thin, IgnoresNaN) {
  EXPECT_THAT(thin({{nan, nan, 3, nan, 1, nan, nan, nan, nan, nan, nan, nan}}, 2), ElementsAre(0, 2, 4, 11));
}

TEST(Thin, KeepsEveryPeakOfALongRun) {
  std::vector<double> curve(100'000);
  for (size_t i = 0; i < curve.size(); ++i) curve[i] = std::sin(static_cast<double>(i) / 300);
  curve[31'415] = 50;
  curve[27'182] = -50;
  const std::vector<size_t> kept = thin({curve}, 400);
  EXPECT_LE(kept.size(), 802u);
  EXPECT_THAT(kept, testing::Contains(31'415));
  EXPECT_THAT(kept, testing::Contains(27'182));
  EXPECT_TRUE(std::ranges::is_sorted(kept));
}

TEST(EvenlySpaced, ReturnsTheEndsAndEvenSteps) {
  EXPECT_THAT(evenly_spaced(0, 5), IsEmpty());
  EXPECT_THAT(evenly_spaced(5, 0), IsEmpty());
  EXPECT_THAT(evenly_spaced(3, 5), ElementsAre(0, 1, 2));
  EXPECT_THAT(evenly_spaced(9, 3), ElementsAre(0, 4, 8));
  EXPECT_THAT(evenly_spaced(9, 1), ElementsAre(8)) << "the last is the most informative";
}

TEST(Smoothed, WeightsByTheHalfLife) {
  const std::vector<double> means = smoothed(std::vector<double>{4, 1, nan, 2}, 1);
  EXPECT_DOUBLE_EQ(means[0], (4 + 1 * 0.5 + 2 * 0.125) / 1.625);
  EXPECT_DOUBLE_EQ(means[1], (4 * 0.5 + 1 + 2 * 0.25) / 1.75);
  EXPECT_TRUE(std::isnan(means[2]));
  EXPECT_DOUBLE_EQ(means[3], (4 * 0.125 + 1 * 0.25 + 2) / 1.375);
}

}  // namespace
}  // namespace tape::inspect
