#include "text/corpus/batch_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/random.h"
#include "tests/support/errors.h"

namespace tape::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Batches = std::vector<std::vector<int64_t>>;

// Lengths as in real text: most sentences short, a few long, the target slightly different from the source.
std::vector<ExampleLength> sentence_lengths(int64_t count) {
  Generator draws(5);
  std::vector<ExampleLength> lengths;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t source = 3 + draws.below(20) + (draws.below(10) == 0 ? draws.below(30) : 0);
    lengths.push_back({source, std::max<int64_t>(1, source + draws.below(9) - 4)});
  }
  return lengths;
}

int64_t longest(const std::vector<int64_t>& batch, const std::vector<ExampleLength>& lengths) {
  int64_t most = 0;
  for (const int64_t i : batch) {
    const auto& length = lengths[static_cast<size_t>(i)];
    most = std::max({most, length.source, length.target});
  }
  return most;
}

std::vector<int64_t> all_of(const Batches& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  std::ranges::sort(all);
  return all;
}

std::vector<int64_t> numbers_to(int64_t count) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

std::vector<std::vector<int64_t>> batches_of(const ShuffledBatches& plan) {
  std::vector<std::vector<int64_t>> batches;
  for (int64_t i = 0; i < plan.size(); ++i) batches.push_back(plan[i]);
  return batches;
}

TEST(PlanBatches, PutsEveryExampleIntoOneBatchWithinTheLimits) {
  const auto lengths = sentence_lengths(3000);
  for (const int64_t pool : {1, 100, 1000, 100'000}) {
    for (const int64_t max_sentences : {0, 7}) {
      const BatchOptions options{.max_tokens = 500, .max_sentences = max_sentences, .pool = pool};
      const BatchPlan plan = plan_batches(lengths, options, 3, 0);
      EXPECT_EQ(all_of(plan.batches), numbers_to(3000));
      EXPECT_THAT(plan.skipped, IsEmpty());
      for (const auto& batch : plan.batches) {
        const auto size = static_cast<int64_t>(batch.size());
        EXPECT_LE(size * longest(batch, lengths), 500);
        EXPECT_TRUE(max_sentences == 0 || size <= max_sentences);
      }
    }
  }
}

// One more example would not fit.
TEST(PlanBatches, FillsBatchesExceptTheLastOfAPool) {
  const auto lengths = sentence_lengths(3000);
  const BatchPlan plan = plan_sorted_batches(lengths, {.max_tokens = 500});
  ASSERT_GT(plan.batches.size(), 20U);
  int64_t real = 0, padded = 0;
  for (size_t i = 0; i < plan.batches.size(); ++i) {
    const auto& batch = plan.batches[i];
    const auto size = static_cast<int64_t>(batch.size());
    if (i + 1 < plan.batches.size()) {
      EXPECT_GT((size + 1) * longest({plan.batches[i + 1][0]}, lengths), 500) << "batch " << i << " is not full";
    }
    padded += size * longest(batch, lengths);
    for (const int64_t example : batch) real += longest({example}, lengths);
    if (i > 0) {
      EXPECT_GE(longest({batch[0]}, lengths), longest(plan.batches[i - 1], lengths));
    }
  }
  EXPECT_EQ(all_of(plan.batches), numbers_to(3000));
  EXPECT_GT(static_cast<double>(real) / static_cast<double>(padded), 0.95);
}

TEST(PlanBatches, DependsOnlyOnSeedAndEpoch) {
  const auto lengths = sentence_lengths(1000);
  const BatchOptions options{.max_tokens = 300, .pool = 400};
  const Batches first = plan_batches(lengths, options, 1, 0).batches;
  EXPECT_EQ(first, plan_batches(lengths, options, 1, 0).batches);
  EXPECT_NE(first, plan_batches(lengths, options, 1, 1).batches);
  EXPECT_NE(first, plan_batches(lengths, options, 2, 0).batches);
  // Adjacent seeds and epochs give different plans.
  EXPECT_NE(plan_batches(lengths, options, 1, 1).batches, plan_batches(lengths, options, 2, 0).batches);
  // Batches are not ordered by length, and every epoch has different ones.
  std::vector<int64_t> lengths_in_order;
  for (const auto& batch : first) lengths_in_order.push_back(longest(batch, lengths));
  EXPECT_FALSE(std::ranges::is_sorted(lengths_in_order));
  std::set<std::set<int64_t>> made, again;
  for (const auto& batch : first) made.insert({batch.begin(), batch.end()});
  for (const auto& batch : plan_batches(lengths, options, 1, 1).batches) again.insert({batch.begin(), batch.end()});
  EXPECT_NE(made, again);
}

// A checkpoint depends on the plan: a version that plans differently could not resume from it.
TEST(PlanBatches, IsTheSameInEveryVersion) {
  const std::vector<ExampleLength> lengths{{3, 1}, {1, 1}, {2, 4}, {1, 2}, {4, 4}, {2, 2}, {1, 1}};
  EXPECT_THAT(plan_sorted_batches(lengths, {.max_tokens = 8}).batches,
              ElementsAre(ElementsAre(1, 6, 3, 5), ElementsAre(0, 2), ElementsAre(4)));
  // The plan of version 0.1.
  EXPECT_EQ(plan_batches(lengths, {.max_tokens = 8, .pool = 4}, 1, 2).batches, (Batches{{6, 3}, {2}, {0, 4}, {1, 5}}));
  EXPECT_EQ(batches_of(plan_windows(40, 5, 4, 1, 2)), (Batches{{19, 34, 14, 9}, {29, 4, 24}}));
  EXPECT_EQ(random_windows(1000, 5, 4, 1, 2), (std::vector<int64_t>{749, 129, 225, 213}));
}

TEST(PlanBatches, SkipsAndReportsExamplesThatAreTooLong) {
  const std::vector<ExampleLength> lengths{{3, 3}, {9, 1}, {1, 11}, {2, 7}, {4, 4}};
  const BatchPlan plan =
      plan_batches(lengths, {.max_tokens = 10, .max_source_length = 8, .max_target_length = 6}, 1, 0);
  EXPECT_EQ(plan.skipped, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(all_of(plan.batches), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(skipped_note(plan, lengths, "train.de"),
            "train.de: 3 of 5 examples skipped: too long, the longest has 11 tokens");
  EXPECT_EQ(plan_batches(lengths, {.max_tokens = 10}, 1, 0).skipped, (std::vector<int64_t>{2}));
  EXPECT_EQ(skipped_note(plan_batches(lengths, {}, 1, 0), lengths, "train.de"), "");
}

TEST(PlanBatches, AcceptsEmptyInput) {
  EXPECT_THAT(plan_batches({}, {}, 1, 0).batches, IsEmpty());
  const std::vector<ExampleLength> lengths(5);
  EXPECT_EQ(all_of(plan_batches(lengths, {.max_tokens = 1, .max_sentences = 2}, 1, 0).batches), numbers_to(5));
}

TEST(PlanBatches, RefusesLimitsThatNoExampleMeets) {
  const std::vector<ExampleLength> lengths{{3, 3}, {4, 9}};
  const auto plan = [&](const BatchOptions& options, int64_t epoch = 0) { plan_batches(lengths, options, 1, epoch); };
  const std::string wrong = "plan_batches: ";
  EXPECT_TAPE_ERROR(plan({.max_tokens = 0}), ErrorKind::config, wrong + "max_tokens must be at least 1, got 0");
  EXPECT_TAPE_ERROR(plan({.max_sentences = -1}), ErrorKind::config, wrong + "max_sentences must be at least 0, got -1");
  EXPECT_TAPE_ERROR(plan({.max_source_length = -2}), ErrorKind::config,
                    wrong + "max_source_length must be at least 0, got -2");
  EXPECT_TAPE_ERROR(plan({.max_target_length = -2}), ErrorKind::config,
                    wrong + "max_target_length must be at least 0, got -2");
  EXPECT_TAPE_ERROR(plan({.pool = 0}), ErrorKind::config, wrong + "pool must be at least 1, got 0");
  EXPECT_TAPE_ERROR(plan({}, -1), ErrorKind::config, wrong + "epoch must be 0 to 16777215, got -1");
  EXPECT_TAPE_ERROR(plan({.max_tokens = 2}), ErrorKind::config,
                    wrong +
                        "all 2 examples are longer than a limit: max_tokens 2, max_source_length 0, "
                        "max_target_length 0 (0: no limit)");
  const std::vector<ExampleLength> negative{{3, 3}, {4, -9}};
  EXPECT_TAPE_ERROR(plan_sorted_batches(negative, {}), ErrorKind::index,
                    wrong + "example 1 has a negative length: source 4, target -9");
}

TEST(PlanWindows, AreAdjacentAndShuffled) {
  const Batches batches = batches_of(plan_windows(1000, 16, 10, 4, 2));
  std::vector<int64_t> starts = all_of(batches);
  EXPECT_GE(starts.size(), 61U);
  EXPECT_LT(starts.front(), 16);
  EXPECT_LT(starts.back() + 16, 1000);
  EXPECT_GE(starts.back() + 2 * 16, 1000) << "one more window would fit";
  for (size_t i = 1; i < starts.size(); ++i) EXPECT_EQ(starts[i], starts[i - 1] + 16);
  for (size_t i = 0; i + 1 < batches.size(); ++i) EXPECT_EQ(batches[i].size(), 10U);
  EXPECT_FALSE(std::ranges::is_sorted(batches[0]));
  EXPECT_EQ(batches, batches_of(plan_windows(1000, 16, 10, 4, 2)));
  EXPECT_NE(batches, batches_of(plan_windows(1000, 16, 10, 4, 3)));
  EXPECT_NE(batches, batches_of(plan_windows(1000, 16, 10, 5, 2)));
}

TEST(PlanWindows, StartAtADifferentOffsetInEachEpoch) {
  std::set<int64_t> first;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const auto starts = all_of(batches_of(plan_windows(100, 8, 4, 1, epoch)));
    first.insert(starts.front());
    EXPECT_LT(starts.back() + 8, 100) << "no token after the last window";
  }
  EXPECT_EQ(first, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  // A text with room for only one window: every position occurs.
  std::set<int64_t> only;
  for (int64_t epoch = 0; epoch < 100; ++epoch)
    only.insert(all_of(batches_of(plan_windows(11, 8, 4, 1, epoch))).front());
  EXPECT_EQ(only, (std::set<int64_t>{0, 1, 2}));
}

/// The order is not stored as a list: every example occurs once, each batch is spread over all, and access is random.
TEST(PlanShuffled, HandlesMoreThanOnePool) {
  constexpr int64_t examples = 3'300'007, size = 100;
  const ShuffledBatches plan = plan_shuffled(examples, size, 1, 2);
  ASSERT_EQ(plan.size(), 33'001);
  std::vector<bool> seen(static_cast<size_t>(examples), false);
  for (int64_t i = 0; i < plan.size(); ++i) {
    const std::vector<int64_t> batch = plan[i];
    ASSERT_EQ(std::ssize(batch), i + 1 < plan.size() ? size : 7);
    if (std::ssize(batch) == size) {
      EXPECT_LT(std::ranges::min(batch), examples / 4) << i;
      EXPECT_GT(std::ranges::max(batch), 3 * examples / 4) << i;
    }
    for (const int64_t example : batch) {
      ASSERT_FALSE(seen[static_cast<size_t>(example)]);
      seen[static_cast<size_t>(example)] = true;
    }
  }
  EXPECT_EQ(plan[5], plan_shuffled(examples, size, 1, 2)[5]);
  EXPECT_NE(plan[5], plan_shuffled(examples, size, 1, 3)[5]);
}

TEST(RandomWindows, AreUniformAndDependOnlyOnSeedAndStep) {
  std::map<int64_t, int64_t> seen;
  std::set<std::vector<int64_t>> steps;
  for (int64_t step = 0; step < 1000; ++step) {
    const auto starts = random_windows(18, 8, 10, 9, step);
    steps.insert(starts);
    for (const int64_t start : starts) ++seen[start];
  }
  EXPECT_EQ(steps.size(), 1000U);
  ASSERT_EQ(seen.size(), 10U);
  EXPECT_EQ(seen.begin()->first, 0);
  EXPECT_EQ(seen.rbegin()->first, 9);
  for (const auto& [start, count] : seen) EXPECT_NEAR(static_cast<double>(count), 1000, 150) << start;
  EXPECT_EQ(random_windows(18, 8, 10, 9, 500), random_windows(18, 8, 10, 9, 500));
  EXPECT_NE(random_windows(18, 8, 10, 9, 500), random_windows(18, 8, 10, 8, 500));
}

TEST(SequentialWindows, HaveEveryTokenAsALabelOnce) {
  const auto sequential_windows = [](int64_t tokens, int64_t context) {
    std::vector<Window> windows;
    for (int64_t i = 0; i < count_sequential_windows(tokens, context); ++i)
      windows.push_back(sequential_window(tokens, context, i));
    return windows;
  };
  EXPECT_THAT(sequential_windows(10, 4), ElementsAre(Window{0, 4}, Window{4, 4}, Window{8, 1}));
  EXPECT_THAT(sequential_windows(9, 4), ElementsAre(Window{0, 4}, Window{4, 4}));
  EXPECT_THAT(sequential_windows(3, 4), ElementsAre(Window{0, 2}));
  EXPECT_THAT(sequential_windows(1, 4), IsEmpty());
  EXPECT_THAT(sequential_windows(0, 4), IsEmpty());
}

TEST(Windows, RefuseTextsShorterThanOneWindow) {
  EXPECT_TAPE_ERROR(plan_windows(10, 0, 1, 1, 0), ErrorKind::config, "plan_windows: context must be at least 1, got 0");
  EXPECT_TAPE_ERROR(plan_windows(10, 1, 0, 1, 0), ErrorKind::config, "plan_windows: batch must be at least 1, got 0");
  EXPECT_TAPE_ERROR(plan_windows(10, 10, 1, 1, 0), ErrorKind::config,
                    "plan_windows: a text of 10 tokens is too short for a window of 10 plus one token");
  EXPECT_TAPE_ERROR(plan_windows(10, 5, 1, 1, -1), ErrorKind::config,
                    "plan_windows: epoch must be 0 to 16777215, got -1");
  EXPECT_TAPE_ERROR(random_windows(5, 5, 1, 1, 0), ErrorKind::config,
                    "random_windows: a text of 5 tokens is too short for a window of 5 plus one token");
  EXPECT_TAPE_ERROR(random_windows(6, 5, 1, 1, -1), ErrorKind::config,
                    "random_windows: step must be at least 0, got -1");
  EXPECT_TAPE_ERROR(count_sequential_windows(6, 0), ErrorKind::config,
                    "sequential_windows: context must be at least 1, got 0");
}

}  // namespace
}  // namespace tape::text
