#include "train/doctor/divergence.h"

#include <cmath>

#include <gmock/gmock.h>

namespace tape::train {
namespace {

using testing::HasSubstr;

/// The first warning for steps with these losses; "" for none.
std::string warning_of(DivergenceWatch& watch, const std::vector<double>& losses, double lr = 0.5) {
  for (const double loss : losses)
    if (const auto warning = watch.step({.loss = loss, .lr = lr})) return *warning;
  return "";
}
std::vector<double> times(int count, double loss) { return std::vector<double>(static_cast<size_t>(count), loss); }

TEST(DivergenceWatch, NamesLossesAndLearningRate) {
  DivergenceWatch watch(std::log(65.0));
  EXPECT_EQ(warning_of(watch, {4.2}, 50), "");
  EXPECT_EQ(warning_of(watch, times(10, 425811), 25),
            "the training loss has grown to 4.258e+05, from 4.2 at the first step and 4.174 for guessing: the run is "
            "diverging. The learning rate, up to 50 so far, is probably too high (--lr)");
  EXPECT_EQ(warning_of(watch, times(30, 425811)), "") << "warns only once";
}

TEST(DivergenceWatch, WarnsAfterTenBadStepsInARowButNotAfterOne) {
  DivergenceWatch watch(4);
  EXPECT_EQ(warning_of(watch, {4}), "");
  EXPECT_EQ(warning_of(watch, times(9, 100)), "");
  EXPECT_EQ(warning_of(watch, {3.9}), "");
  EXPECT_EQ(warning_of(watch, times(9, 100)), "");
  EXPECT_THAT(warning_of(watch, {100}), HasSubstr("has grown to 100"));
}

/// The warning of a run that begins with one loss and continues with another.
std::string warning_of(std::optional<double> chance, double first, double then) {
  DivergenceWatch watch(chance);
  warning_of(watch, {first});
  return warning_of(watch, times(50, then), 3);
}

TEST(DivergenceWatch, ComparesWithTheChanceLevelLoss) {
  EXPECT_EQ(warning_of(4, 4, 6), "");
  EXPECT_NE(warning_of(4, 4, 6.01), "");
  EXPECT_NE(warning_of(10, 2, 7.5), "") << "a model that was good: still below the chance level";
  EXPECT_EQ(warning_of(10, 0.01, 0.4), "") << "small losses vary more";
}

TEST(DivergenceWatch, ComparesWithTheFirstLossIfTheChanceLevelIsUnknown) {
  EXPECT_EQ(warning_of({}, 0.5, 5), "");
  EXPECT_EQ(
      warning_of({}, 0.5, 5.1),
      "the training loss has grown to 5.1, from 0.5 at the first step: the run is diverging. The learning rate, up to "
      "3 so far, is probably too high (--lr)");
}

TEST(DivergenceWatch, WarnsOfAValidationLossImmediately) {
  DivergenceWatch watch(4), unknown;
  EXPECT_FALSE(watch.evaluation(900)) << "before the first step";
  watch.step({.loss = 4, .lr = 0.1}), unknown.step({.loss = 4, .lr = 0.1});
  EXPECT_FALSE(watch.evaluation(5));
  EXPECT_FALSE(unknown.evaluation(900)) << "it may be a different kind of loss";
  EXPECT_FALSE(watch.evaluation(NAN));
  EXPECT_THAT(watch.evaluation(900).value_or(""), HasSubstr("the validation loss has grown to 900, from 4"));
  EXPECT_FALSE(watch.evaluation(901));
}

}  // namespace
}  // namespace tape::train
