#include "train/tasks/confusion.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::train {
namespace {

TEST(Confusion, HasTheScoresOfScikitLearn) {
  const auto& cases = fixture_json("confusion.json");
  ASSERT_EQ(cases.size(), 5u);
  for (const auto& test : cases) {
    const auto truth = test["truth"].get<std::vector<int64_t>>(), said = test["said"].get<std::vector<int64_t>>();
    EXPECT_NEAR(accuracy(truth, said), test["accuracy"].get<double>(), 1e-15);
    EXPECT_NEAR(macro_f1(test["labels"].get<int64_t>(), truth, said), test["macro_f1"].get<double>(), 1e-15);
  }
}

TEST(Confusion, HasTheTruthInRows) {
  const std::vector<int64_t> truth{0, 0, 1, 2}, said{0, 1, 1, 0};
  const Confusion confusion = confusion_of({"a", "b", "c"}, truth, said);
  EXPECT_EQ(confusion.counts, (std::vector<std::vector<int64_t>>{{1, 1, 0}, {0, 1, 0}, {1, 0, 0}}));
  EXPECT_EQ(confusion.labels, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(accuracy({}, {}), 0);
  EXPECT_EQ(macro_f1(2, {}, {}), 0);
  EXPECT_TAPE_ERROR(confusion_of({"a"}, truth, {}), ErrorKind::shape, "confusion_of: 4 labels, 0 predictions");
  EXPECT_TAPE_ERROR(confusion_of({"a", "b"}, truth, said), ErrorKind::index,
                    "confusion_of: example 3 has label 2, but only 2 labels exist");
  EXPECT_THROW(accuracy(truth, {}), Error);
  EXPECT_THROW(macro_f1(2, truth, said), Error);
}

TEST(Confusion, IsNotLoggedForManyLabels) {
  const std::vector<int64_t> truth{0, 0}, said{0, 1};
  EXPECT_TRUE(confusion_to_log(std::vector<std::string>(200, "a"), truth, said).has_value());
  EXPECT_FALSE(confusion_to_log(std::vector<std::string>(201, "a"), truth, said).has_value());
  // Their table would have 10^16 counts.
  EXPECT_EQ(macro_f1(100'000'000, truth, said), (2.0 / 3 + 0) / 2);
}

}  // namespace
}  // namespace tape::train
