#include "train/confusion.h"

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::train {
namespace {

TEST(Confusion, HasTheScoresOfScikitLearn) {
  const auto& cases = fixture_json("confusion.json");
  ASSERT_EQ(cases.size(), 5u);
  for (const auto& test : cases) {
    const auto truth = test["truth"].get<std::vector<int64_t>>(), said = test["said"].get<std::vector<int64_t>>();
    const Confusion confusion = confusion_of(std::vector<std::string>(test["labels"].get<size_t>()), truth, said);
    EXPECT_NEAR(accuracy(confusion), test["accuracy"].get<double>(), 1e-15);
    EXPECT_NEAR(macro_f1(confusion), test["macro_f1"].get<double>(), 1e-15);
  }
}

TEST(Confusion, HasTheTruthInRows) {
  const std::vector<int64_t> truth{0, 0, 1, 2}, said{0, 1, 1, 0};
  const Confusion confusion = confusion_of({"a", "b", "c"}, truth, said);
  EXPECT_EQ(confusion.counts, (std::vector<std::vector<int64_t>>{{1, 1, 0}, {0, 1, 0}, {1, 0, 0}}));
  EXPECT_EQ(confusion.labels, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(accuracy(confusion_of({"a", "b"}, {}, {})), 0);
  EXPECT_EQ(macro_f1(confusion_of({"a", "b"}, {}, {})), 0);
  EXPECT_TAPE_ERROR(confusion_of({"a"}, truth, {}), ErrorKind::shape, "confusion_of: 4 labels, 0 said");
  EXPECT_TAPE_ERROR(confusion_of({"a", "b"}, truth, said), ErrorKind::index,
                    "confusion_of: example 3 has label 2, there are 2");
}

}  // namespace
}  // namespace tape::train
