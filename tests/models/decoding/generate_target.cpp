// generate() with an encoder-decoder model; encoder_decoders.cpp checks the texts themselves.

#include <set>

#include "autograd/random.h"
#include "models/decoders/gpt.h"
#include "models/decoding/generate.h"
#include "models/encoder_decoders/bart.h"
#include "tests/support/errors.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

class GenerateTarget : public testing::Test {
 protected:
  GenerateTarget() { model.eval(); }

  Bart model{[] {
    manual_seed(2);
    return BartConfig{.vocab = 12,
                      .d_model = 8,
                      .layers = 1,
                      .heads = 2,
                      .d_ff = 12,
                      .decoder_layers = 1,
                      .decoder_heads = 2,
                      .decoder_d_ff = 12,
                      .max_length = 6,
                      .init_std = 0.5};
  }()};
};

TEST_F(GenerateTarget, ReportsEachTokenAsItIsGeneratedAndTheEndOnce) {
  std::vector<Ids> told(3);
  std::vector<int> ends(3, 0);
  const auto found =
      generate(model, {{3, 4}, {5}, {6, 7, 8}},
               {.max_new_tokens = 6, .seed = 4, .on_token = [&](int64_t row, std::optional<int64_t> token) {
                  if (token)
                    told[static_cast<size_t>(row)].push_back(*token);
                  else
                    ++ends[static_cast<size_t>(row)];
                }});
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(told[row], found[row].tokens);
    EXPECT_EQ(ends[row], 1);
  }
}

TEST_F(GenerateTarget, GeneratesNoPaddingAndOnlyIdsBelowVocabulary) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (const Continuation& text : generate(
             model, {{3, 4}, {5}}, {.sampling = {.temperature = 5}, .stop_ids = Ids{}, .seed = seed, .vocabulary = 9}))
      for (const int64_t token : text.tokens) {
        EXPECT_NE(token, model.config().padding_id);
        EXPECT_LT(token, 9);
      }
}

/// Using the k largest scores of one row, or all of them.
TEST(GenerateTargetOfManyWords, DrawsFromTheTopKWithoutComputingAllScores) {
  Bart model([] {
    manual_seed(3);
    return BartConfig{.vocab = 20000,
                      .d_model = 16,
                      .layers = 1,
                      .heads = 2,
                      .d_ff = 32,
                      .decoder_layers = 1,
                      .decoder_heads = 2,
                      .decoder_d_ff = 32,
                      .max_length = 40,
                      .init_std = 0.5};
  }());
  model.eval();
  GenerateOptions options{.sampling = {.temperature = 1.5, .top_k = 20}, .max_new_tokens = 38, .stop_ids = Ids{}};
  for (const int64_t vocabulary : {0, 15000})
    for (uint64_t seed = 1; seed < 4; ++seed) {
      options.vocabulary = vocabulary;
      options.seed = seed;
      options.use_cache = true;
      const Ids found = generate(model, {{3, 4}}, options)[0].tokens;
      EXPECT_GT(std::set<int64_t>(found.begin(), found.end()).size(), 10U);
      options.min_new_tokens = 1;  // no effect, but requires all scores
      EXPECT_EQ(generate(model, {{3, 4}}, options)[0].tokens, found);
      options.min_new_tokens = {};
      const int64_t hook =
          model.output->register_forward_hook([](nn::Module&, const Tensors&, const Tensor& logits) { return logits; });
      EXPECT_EQ(generate(model, {{3, 4}}, options)[0].tokens, found);
      model.output->remove_hook(hook);
    }
}

TEST_F(GenerateTarget, EndsAtTheLastPosition) {
  const auto found = generate(model, {{3, 4}}, {.max_new_tokens = 50, .stop_ids = Ids{}, .seed = 1});
  EXPECT_EQ(found[0].tokens.size(), 6u);
  EXPECT_FALSE(found[0].stopped);
  EXPECT_TRUE(generate(model, std::vector<Ids>{}, {}).empty());
  EXPECT_TRUE(generate(model, {{3, 4}}, {.max_new_tokens = 0})[0].tokens.empty());
}

TEST_F(GenerateTarget, StartsWithBosAndForcedBos) {
  const GenerateOptions options{.sampling = {.temperature = 0}, .max_new_tokens = 4, .stop_ids = Ids{}};
  GenerateOptions forced = options, other = options;
  forced.forced_bos = 10;
  other.bos = 9;
  const Ids plain = generate(model, {{3, 4}}, options)[0].tokens;
  EXPECT_EQ(generate(model, {{3, 4}}, forced)[0].tokens.front(), 10);
  forced.use_cache = false;
  EXPECT_EQ(generate(model, {{3, 4}}, forced)[0].tokens.front(), 10);
  EXPECT_NE(generate(model, {{3, 4}}, other)[0].tokens, plain);
}

TEST_F(GenerateTarget, RefusesSourcesAndTokensOutOfRange) {
  const auto refused = [&](const Ids& source, const GenerateOptions& options, ErrorKind kind,
                           const std::string& sentence) {
    EXPECT_TAPE_ERROR(generate(model, {{3}, source}, options), kind, sentence);
  };
  refused({}, {}, ErrorKind::config, "generate: source 1 is empty");
  refused(Ids(7, 3), {}, ErrorKind::shape, "generate: source 1 has 7 tokens, but the model has 6 positions");
  refused({3, 12}, {}, ErrorKind::index, "generate: source 1 has id 12 at position 1, which is not in 0..11");
  refused({3, 1}, {}, ErrorKind::index,
          "generate: source 1 has the padding id 1 at position 1, which the model ignores");
  refused({3}, {.bos = 12}, ErrorKind::index, "generate: the first token 12 is not in 0..11");
  refused({3}, {.forced_bos = -1}, ErrorKind::index, "generate: the first token -1 is not in 0..11");
  refused({3}, {.max_new_tokens = -1}, ErrorKind::config, "generate: max_new_tokens must be at least 0, got -1");
  refused({3}, {.vocabulary = 13}, ErrorKind::config, "generate: vocabulary must be from 0 to the model's 12, got 13");
  Gpt gpt({.vocab = 5, .d_model = 4, .layers = 1, .heads = 1});
  for (const GenerateOptions& options : {GenerateOptions{.bos = 1}, {.forced_bos = 1}, {.forced_eos = 1}})
    EXPECT_TAPE_ERROR(generate(gpt, {{3}}, options), ErrorKind::config,
                      "generate: bos, forced_bos and forced_eos apply only to encoder-decoder models");
}

}  // namespace
}  // namespace tape::models
