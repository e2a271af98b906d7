#include "models/decoding/greedy.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"
#include "tests/models/sources.h"
#include "tests/support/errors.h"

namespace tape::models {
namespace {

using Lines = std::vector<std::vector<int64_t>>;

TEST(Greedy, IsTheSameWithAndWithoutACache) {
  size_t words = 0, ended = 0;
  std::set<int64_t> seen;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Lively model(seed, 12, 3, f32);
    for (const int64_t length : {1, 4, 7}) {
      const Tensor src = sources(seed + 100, 5, length);
      const Lines cached = greedy_decode(model, src, {.max_length = 20});
      EXPECT_EQ(cached, greedy_decode(model, src, {.max_length = 20, .use_cache = false}))
          << "seed " << seed << ", length " << length;
      for (const auto& row : cached) {
        words += row.size();
        ended += row.size() < 20;
        seen.insert(row.begin(), row.end());
      }
    }
  }
  // Make sure the comparison is meaningful: rows end at different lengths and the tokens differ.
  EXPECT_GT(words, 300u);
  EXPECT_GT(ended, 5u);
  EXPECT_GT(seen.size(), 6u);
  EXPECT_FALSE(seen.contains(0)) << "padding is never generated";
  EXPECT_FALSE(seen.contains(2)) << "nor is the end";
}

TEST(Greedy, GivesEachRowTheResultOfDecodingItAlone) {
  Lively model(3, 12, 3, f32);
  model.to(f64);
  const Tensor src = sources(9, 4, 6);
  const Lines together = greedy_decode(model, src, {.max_length = 15});
  for (int64_t row = 0; row < 4; ++row) {
    // A batch of one row without the padding.
    const Tensor alone = slice(slice(src, 0, {.start = row, .end = row + 1}), 1, {.start = 0, .end = 6 - row});
    EXPECT_EQ(greedy_decode(model, alone, {.max_length = 15})[0], together[static_cast<size_t>(row)]) << row;
  }
}

constexpr int64_t kManyWords = 20000;  // so many that their weights are read in 8 bits first

TEST(Greedy, TakesTheLikeliestOfManyWordsWithoutAllLogits) {
  std::set<int64_t> seen;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Lively model(seed, kManyWords, -20, f32);
    const Tensor src = sources(seed + 100, 1, 6);
    const Lines found = greedy_decode(model, src, {.max_length = 38});
    seen.insert(found[0].begin(), found[0].end());
    int calls = 0;
    model.output->register_forward_hook([&](nn::Module&, const Tensors&, const Tensor& logits) {
      calls += logits.size(-1) == kManyWords;
      return logits;
    });
    EXPECT_EQ(greedy_decode(model, src, {.max_length = 38}), found) << "seed " << seed;
    EXPECT_GT(calls, 0) << "hooks see logits";
  }
  EXPECT_GT(seen.size(), 20U);
}

TEST(Greedy, RespectsAHookThatForbidsAWord) {
  Lively model(1, kManyWords, -20, f32);
  const Tensor src = sources(9, 1, 6);
  const int64_t first = greedy_decode(model, src, {.max_length = 1})[0].at(0);
  model.output->register_forward_hook([first](nn::Module&, const Tensors&, const Tensor& logits) {
    Tensor changed = logits.clone();
    for (int64_t row = first; row < changed.numel(); row += kManyWords) changed.mutable_data<float>()[row] = -INFINITY;
    return changed;
  });
  EXPECT_NE(greedy_decode(model, src, {.max_length = 1})[0].at(0), first);
}

TEST(Greedy, EndsAtTheEndToken) {
  Lively model(1, 12, 3, f32);
  prefer(model, 2);
  EXPECT_EQ(greedy_decode(model, sources(1, 2, 3)), (Lines{{}, {}}));
  prefer(model, 7);
  EXPECT_EQ(greedy_decode(model, sources(1, 1, 3), {.eos = 7}), (Lines{{}}));
}

TEST(Greedy, EndsAtMaxLength) {
  Lively model(1, 12, 3, f32);
  prefer(model, 5);
  for (const bool use_cache : {true, false}) {
    EXPECT_EQ(greedy_decode(model, sources(1, 2, 3), {.max_length = 3, .use_cache = use_cache}),
              (Lines{{5, 5, 5}, {5, 5, 5}}));
    EXPECT_EQ(greedy_decode(model, sources(1, 1, 3), {.max_length = 1, .use_cache = use_cache}), (Lines{{5}}));
  }
}

TEST(Greedy, NeverGeneratesPadding) {
  Lively model(1, 12, 3, f32);
  prefer(model, 0);
  for (const auto& row : greedy_decode(model, sources(1, 2, 3), {.max_length = 4}))
    EXPECT_EQ(std::count(row.begin(), row.end(), 0), 0);
  Lively many(1, kManyWords, -20, f32);
  prefer(many, 0);
  EXPECT_EQ(greedy_decode(many, sources(1, 1, 3), {.max_length = 2}), (Lines{{1, 1}})) << "the first other id";
}

TEST(Greedy, AcceptsAnEmptyBatch) {
  Lively model(1, 12, 3, f32);
  EXPECT_TRUE(greedy_decode(model, empty({0, 3}, i64)).empty());
}

TEST(Greedy, RecordsNothing) {
  Lively model(1, 12, 3, f32);
  greedy_decode(model, sources(1, 2, 3), {.max_length = 4});
  for (const Tensor& parameter : model.parameters()) EXPECT_FALSE(parameter.grad().defined());
  EXPECT_TRUE(grad_enabled());
}

TEST(Greedy, RefusesLengthsBeyondTheModelsPositions) {
  Lively model(1, 12, 3, f32);
  EXPECT_TAPE_ERROR(greedy_decode(model, sources(1, 1, 2), {.max_length = 0}), ErrorKind::config,
                    "greedy_decode: max_length must be at least 1, got 0");
  prefer(model, 5);
  EXPECT_TAPE_ERROR(greedy_decode(model, sources(1, 1, 2), {.max_length = 41}), ErrorKind::shape,
                    "positions: PositionalEncoding: positions 40 to 40 are beyond the table of 40");
}

TEST(Greedy, ChoosesOnlyIdsBelowVocabulary) {
  const auto words = [](int64_t vocabulary, bool use_cache) {
    Lively model(3, 12, 3, f32);
    std::set<int64_t> said;
    for (const auto& row : greedy_decode(
             model, sources(5, 6, 4), {.eos = -1, .max_length = 20, .use_cache = use_cache, .vocabulary = vocabulary}))
      said.insert(row.begin(), row.end());
    return said;
  };
  const int64_t last = *words(0, true).rbegin();
  EXPECT_LT(*words(last, true).rbegin(), last);
  EXPECT_EQ(words(last, true), words(last, false));
  EXPECT_TAPE_ERROR(words(13, true), ErrorKind::config,
                    "greedy_decode: vocabulary must be from 0 to the model's 12, got 13");
}

}  // namespace
}  // namespace tape::models
