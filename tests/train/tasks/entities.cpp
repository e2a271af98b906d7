#include "train/tasks/entities.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::train {
namespace {

using Names = std::vector<std::string>;

TEST(Entities, HaveTheF1OfSeqevalsStrictMode) {
  const auto& fixture = fixture_json("entities.json");
  const auto labels = fixture["labels"].get<Names>();
  const auto numbers = [&](const nlohmann::json& names) {
    std::vector<int64_t> found;
    for (const auto& name : names) found.push_back(std::ranges::find(labels, name.get<std::string>()) - labels.begin());
    return found;
  };
  ASSERT_EQ(fixture["cases"].size(), 5u);
  for (const auto& test : fixture["cases"]) {
    EntityCounter counter(labels);
    for (size_t i = 0; i < test["truth"].size(); ++i) counter.add(numbers(test["truth"][i]), numbers(test["said"][i]));
    EXPECT_NEAR(counter.count().f1(), test["f1"].get<double>(), 1e-15);
  }
}

TEST(Entities, CountOnlyWithExactWordsAndType) {
  const Names labels{"B-LOC", "B-PER", "I-LOC", "I-PER", "O"};
  EntityCounter counter(labels);
  counter.add(std::vector<int64_t>{1, 3, 4, 0, 1}, std::vector<int64_t>{1, 3, 4, 1, 1});  // the type of one is wrong
  counter.add(std::vector<int64_t>{1, 3, 3}, std::vector<int64_t>{1, 3, 4});              // too short
  EXPECT_EQ(counter.count().expected, 4);
  EXPECT_EQ(counter.count().predicted, 4);
  EXPECT_EQ(counter.count().correct, 2);
  EXPECT_DOUBLE_EQ(counter.count().f1(), 0.5);
  EXPECT_EQ(counter.stray(), 0);
  counter.add(std::vector<int64_t>{3, 1, 2}, std::vector<int64_t>{4, 4, 4});  // I- after nothing, and of another type
  EXPECT_EQ(counter.stray(), 2);
  EXPECT_EQ(counter.count().expected, 5);
  EXPECT_EQ(EntityCount().f1(), 0);
  EXPECT_TAPE_ERROR(counter.add(std::vector<int64_t>{1}, {}), ErrorKind::shape,
                    "EntityCounter: 1 labels, 0 predictions");
  EXPECT_TAPE_ERROR(counter.add(std::vector<int64_t>{5}, std::vector<int64_t>{0}), ErrorKind::index,
                    "EntityCounter: word 0 has label 5, but only 5 labels exist");
  EXPECT_TAPE_ERROR(EntityCounter(Names{"NOUN"}), ErrorKind::config,
                    "EntityCounter: the labels do not follow the BIO scheme");
}

TEST(Entities, RequireBioLabels) {
  EXPECT_TRUE(are_bio(Names{"O", "B-PER", "I-PER"}));
  EXPECT_TRUE(are_bio(Names{"B-PER"}));
  EXPECT_FALSE(are_bio(Names{"O"}));
  EXPECT_FALSE(are_bio(Names{"O", "I-PER"})) << "IOB1 begins entities with I-";
  EXPECT_FALSE(are_bio(Names{"O", "B-PER", "I-PER", "E-PER"}));
  EXPECT_FALSE(are_bio(Names{"NOUN", "VERB"}));
  EXPECT_FALSE(are_bio(Names{"O", "B-"}));
}

}  // namespace
}  // namespace tape::train
