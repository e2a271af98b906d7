#include "models/decoding/generate.h"

#include <algorithm>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "autograd/kernels/runtime/common/work.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

const nlohmann::json& expected_continuations() { return fixture_json("generate.json"); }

/// The model of tests/fixtures/make_generate.py: 13 words, 11 positions, f64.
std::unique_ptr<Gpt> lively_gpt() {
  auto model = load<Gpt>(fixture_path("hugging_face/gpt2"));
  const NoGrad no_grad;
  for (Tensor& parameter : model->parameters())
    if (parameter.rank() == 2) parameter.mul_(expected_continuations().at("scale").get<double>());
  return model;
}

std::vector<Ids> tokens(const std::vector<Continuation>& found) {
  std::vector<Ids> all;
  for (const Continuation& c : found) all.push_back(c.tokens);
  return all;
}

const std::vector<Ids> prompts{{7}, {12, 6, 3, 6}, {12, 10}, {6, 10, 6, 4, 9, 9}, {3, 4, 5}, {5, 5, 5, 5, 5}};

TEST(Generate, GivesTransformersGreedyTexts) {
  const auto model = lively_gpt();
  const auto given = expected_continuations();
  for (const auto& one : given.at("greedy")) {
    const auto& settings = one.at("settings");
    const auto found =
        generate(*model, given.at("prompts").get<std::vector<Ids>>(),
                 {.sampling = {.temperature = 0, .repetition_penalty = settings.value("repetition_penalty", 1.0)},
                  .max_new_tokens = 5,
                  .no_repeat_ngram = settings.value("no_repeat_ngram_size", 0),
                  .min_new_tokens = settings.value("min_new_tokens", 0)});
    EXPECT_EQ(tokens(found), one.at("tokens").get<std::vector<Ids>>()) << settings;
    for (const Continuation& c : found) EXPECT_EQ(c.stopped, c.tokens.size() < 5);
  }
}

TEST(Generate, SlidesBeyondThePositions) {
  const auto model = lively_gpt();
  const auto given = expected_continuations();
  const auto begun = given.at("prompts").get<std::vector<Ids>>();
  const auto texts = given.at("window").get<std::vector<Ids>>();
  for (const bool cache : {true, false})
    EXPECT_EQ(
        tokens(generate(*model, begun,
                        {.sampling = {.temperature = 0}, .max_new_tokens = 25, .stop_ids = Ids{}, .use_cache = cache})),
        texts);
  // A prompt that is already longer than the table.
  Ids longer = begun[0];
  longer.insert(longer.end(), texts[0].begin(), texts[0].begin() + 15);
  const Ids rest(texts[0].begin() + 15, texts[0].end());
  EXPECT_EQ(tokens(generate(*model, {longer, begun[1]},
                            {.sampling = {.temperature = 0}, .max_new_tokens = 10, .stop_ids = Ids{}}))[0],
            rest);
}

TEST(Generate, IsTheSameWithAndWithoutACacheAndAlone) {
  const auto model = lively_gpt();
  std::set<size_t> lengths;
  std::set<int64_t> words;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    GenerateOptions options{.sampling = {.temperature = 4, .top_p = 0.95}, .max_new_tokens = 16, .seed = seed};
    const auto cached = generate(*model, prompts, options);
    options.use_cache = false;
    EXPECT_EQ(tokens(generate(*model, prompts, options)), tokens(cached)) << "seed " << seed;
    options.use_cache = true;
    for (size_t row = 0; row < prompts.size(); ++row) {
      options.seed = seed + row;
      EXPECT_EQ(generate(*model, {prompts[row]}, options)[0].tokens, cached[row].tokens)
          << "seed " << seed << ", row " << row;
      lengths.insert(cached[row].tokens.size());
      words.insert(cached[row].tokens.begin(), cached[row].tokens.end());
    }
  }
  EXPECT_GT(lengths.size(), 6u) << "rows end at different steps";
  EXPECT_GT(words.size(), 8u);
  EXPECT_FALSE(words.contains(2)) << "the end is not part of the text";
}

TEST(Generate, DrawsFromTheSamplingStreamWithoutASeed) {
  const auto model = lively_gpt();
  const GenerateOptions options{.sampling = {.temperature = 9}, .max_new_tokens = 20, .stop_ids = Ids{}};
  manual_seed(4);
  const auto first = tokens(generate(*model, prompts, options)), second = tokens(generate(*model, prompts, options));
  manual_seed(4);
  EXPECT_EQ(tokens(generate(*model, prompts, options)), first);
  EXPECT_NE(first, second);
  EXPECT_NE(generate(*model, {{7}, {7}}, options)[0].tokens, generate(*model, {{7}, {7}}, options)[1].tokens)
      << "equal prompts have draws of their own";
}

TEST(Generate, ReportsEachTokenAsItIsGenerated) {
  const auto model = lively_gpt();
  std::vector<Ids> heard(prompts.size());
  std::vector<int> ends(prompts.size(), 0);
  std::vector<int64_t> order;
  const auto found = generate(*model, prompts,
                              {.sampling = {.temperature = 4},
                               .max_new_tokens = 16,
                               .seed = 3,
                               .on_token = [&](int64_t row, std::optional<int64_t> token) {
                                 const auto at = static_cast<size_t>(row);
                                 EXPECT_EQ(ends[at], 0) << "a token after the end";
                                 if (token)
                                   heard[at].push_back(*token);
                                 else
                                   ++ends[at];
                                 order.push_back(row);
                               }});
  EXPECT_EQ(heard, tokens(found));
  EXPECT_EQ(ends, std::vector<int>(prompts.size(), 1));
  EXPECT_EQ(Ids(order.begin(), order.begin() + 2), (Ids{0, 1})) << "not one row after the other";
}

TEST(Generate, StopsAtStopIds) {
  const auto model = lively_gpt();
  const Ids whole =
      generate(*model, {{7}}, {.sampling = {.temperature = 0}, .max_new_tokens = 25, .stop_ids = Ids{}})[0].tokens;
  const auto at = std::find(whole.begin(), whole.end(), 12) - whole.begin();
  const auto found =
      generate(*model, {{7}}, {.sampling = {.temperature = 0}, .max_new_tokens = 25, .stop_ids = Ids{1, 12}})[0];
  EXPECT_TRUE(found.stopped);
  EXPECT_EQ(found.tokens, Ids(whole.begin(), whole.begin() + at));
  EXPECT_GT(at, 3);
}

TEST(Generate, GeneratesOnlyIdsBelowVocabulary) {
  const auto model = lively_gpt();
  for (const auto& found :
       generate(*model, prompts,
                {.sampling = {.temperature = 50}, .max_new_tokens = 40, .stop_ids = Ids{}, .seed = 1, .vocabulary = 6}))
    for (const int64_t id : found.tokens) EXPECT_LT(id, 6);
}

TEST(Generate, StartsAnEmptyPromptWithBos) {
  const auto model = lively_gpt();
  const GenerateOptions options{.sampling = {.temperature = 3}, .max_new_tokens = 9, .seed = 5};
  EXPECT_EQ(tokens(generate(*model, {{}}, options)), tokens(generate(*model, {{1}}, options)));
}

TEST(Generate, AcceptsAModelThatReturnsProbabilities) {
  manual_seed(2);
  GptConfig config{.vocab = 13, .d_model = 8, .layers = 1, .heads = 2, .max_length = 8, .init_std = 1};
  Gpt scores(config);
  config.output = nn::TokenOutput::probabilities;
  Gpt shares(config);
  shares.load_state_dict(scores.state_dict());
  scores.eval(), shares.eval();
  for (const int64_t top_k : {0, 4}) {
    const GenerateOptions options{
        .sampling = {.temperature = 1.5, .top_k = top_k}, .max_new_tokens = 30, .seed = 5, .vocabulary = 12};
    EXPECT_EQ(tokens(generate(shares, prompts, options)), tokens(generate(scores, prompts, options)));
  }
}

TEST(Generate, AcceptsNoPromptsAndNoNewTokens) {
  const auto model = lively_gpt();
  EXPECT_TRUE(generate(*model, {}).empty());
  const auto found = generate(*model, {{7}}, {.max_new_tokens = 0});
  EXPECT_TRUE(found[0].tokens.empty());
  EXPECT_FALSE(found[0].stopped);
}

TEST(Generate, RefusesPromptsAndSettingsOutOfRange) {
  const auto model = lively_gpt();
  EXPECT_TAPE_ERROR(generate(*model, {{7}}, {.max_new_tokens = -1}), ErrorKind::config,
                    "generate: max_new_tokens must be at least 0, got -1");
  EXPECT_TAPE_ERROR(generate(*model, {{7}}, {.vocabulary = 14}), ErrorKind::config,
                    "generate: vocabulary must be from 0 to the model's 13, got 14");
  EXPECT_TAPE_ERROR(generate(*model, {{7}, {1, 13}}), ErrorKind::index,
                    "generate: prompt 1 has id 13 at position 1, which is not in 0..12");
  EXPECT_TAPE_ERROR(generate(*model, {{7}}, {.sampling = {.top_p = 2}}), ErrorKind::config,
                    "generate: top_p must be from 0 to 1, got 2");
  Gpt without({.vocab = 13, .d_model = 8, .layers = 1, .heads = 2, .max_length = 8});
  EXPECT_TAPE_ERROR(generate(without, {{7}, {}}), ErrorKind::config,
                    "generate: prompt 1 is empty, and the model has no bos_id to begin with");
}

TEST(Generate, NamesATokenWhoseScoreIsNaN) {
  const auto model = lively_gpt();
  const NoGrad no_grad;
  model->embeddings->token->weight.fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TAPE_ERROR(generate(*model, {{7}}), ErrorKind::numeric, "generate: the score of token 0 is nan");
  EXPECT_TAPE_ERROR(generate(*model, {{7}}, {.sampling = {.temperature = 0}}), ErrorKind::numeric,
                    "generate: the highest score, of token 0, is nan");
}

/// A table so large that it is read in 8 bits first.
class GenerateOfManyWords : public testing::Test {
 protected:
  static constexpr int64_t kWords = 20000;

  GenerateOfManyWords() {
    const NoGrad no_grad;
    for (Tensor& parameter : model.parameters())
      if (parameter.rank() == 2) parameter.mul_(40);
    model.prepare_for_inference();
  }
  std::vector<Ids> said(const std::vector<Ids>& some, const GenerateOptions& options) {
    return tokens(generate(model, some, options));
  }
  double flops(const GenerateOptions& options) {
    said({{1}}, options);  // the table is rounded
    const double before = kernels::flop_counter();
    said({{1}}, options);
    return kernels::flop_counter() - before;
  }
  void expect_same_with_all_scores(const GenerateOptions& options) {
    GenerateOptions more = options;  // an option without effect, which requires all scores
    more.min_new_tokens = 1;
    for (const std::vector<Ids>& some : {std::vector<Ids>{{7, 600, 19999}}, std::vector<Ids>{{1}, {2, 3, 4}, {9, 9}}}) {
      const std::vector<Ids> found = said(some, options);
      EXPECT_GT(std::set<int64_t>(found[0].begin(), found[0].end()).size(), 3U);
      int calls = 0;
      const int64_t hook = model.output->register_forward_hook([&](nn::Module&, const Tensors&, const Tensor& logits) {
        calls += logits.size(-1) == kWords;
        return logits;
      });
      EXPECT_EQ(said(some, options), found);
      EXPECT_GT(calls, 0) << "hooks see logits";
      model.output->remove_hook(hook);
      EXPECT_EQ(said(some, more), found);
    }
    EXPECT_LT(flops(options), 0.5 * flops(more));
  }

  Gpt model{[] {
    manual_seed(4);
    return GptConfig{.vocab = kWords, .d_model = 16, .layers = 2, .heads = 2, .max_length = 40, .tie_output = false};
  }()};
};

TEST_F(GenerateOfManyWords, TakesTheLikeliestWithoutComputingAllScores) {
  expect_same_with_all_scores({.sampling = {.temperature = 0}, .max_new_tokens = 38, .stop_ids = Ids{}});
  expect_same_with_all_scores(
      {.sampling = {.temperature = 0}, .max_new_tokens = 38, .stop_ids = Ids{}, .vocabulary = 15000});
}

TEST_F(GenerateOfManyWords, DrawsFromTheTopKWithoutComputingAllScores) {
  const SamplingOptions drawn{.temperature = 1.5, .top_k = 20, .top_p = 0.9};
  for (uint64_t seed = 1; seed < 4; ++seed)
    for (const int64_t vocabulary : {0, 15000})
      expect_same_with_all_scores(
          {.sampling = drawn, .max_new_tokens = 38, .stop_ids = Ids{}, .seed = seed, .vocabulary = vocabulary});
}

}  // namespace
}  // namespace tape::models
