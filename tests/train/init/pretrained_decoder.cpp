#include "train/init/pretrained_decoder.h"

#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "models/adapters/adapter_folder.h"
#include "models/decoders/gpt.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"
#include "tests/train/language_model_test.h"
#include "tests/train/run_log.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/checkpoints/checkpoint.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Continues training a model that was trained for a few steps.
class PretrainedDecoderTest : public LanguageModelTest {
 protected:
  PretrainedDecoderTest() {
    LanguageModelOptions given = options("base", 30);
    given.run.lr = 1e-2;
    base_loss_ = train(given).valid_loss;
    told_.str("");
  }
  LanguageModelOptions going_on(const std::string& run, int64_t steps,
                                const std::optional<AdapterTraining>& adapters = {}) {
    return {.run = {.out = folder_ / run, .steps = steps, .lr = 5e-3, .evaluate_every = 10},
            .text = folder_ / "numbers.txt",
            .batch = 8,
            .init = DecoderInit{.folder = folder_ / "base", .adapters = adapters}};
  }
  std::map<std::string, Tensor> values_of(const std::string& run) {
    return models::load<models::CausalLM>(folder_ / run)->state_dict();
  }
  double base_loss_ = 0;
};

TEST_F(PretrainedDecoderTest, ContinuesTrainingAllParameters) {
  const LanguageModelResult result = train(going_on("run", 30));
  EXPECT_LT(result.valid_loss, base_loss_ - 0.05);
  EXPECT_NEAR(events_of(folder_ / "run", "step").back()["lr"].get<double>(), 5e-4, 1e-12) << "a tenth of the peak";
  const auto before = values_of("base"), after = values_of("run");
  for (const auto& [name, value] : before) EXPECT_FALSE(tensors_equal(after.at(name), value)) << name;
}

TEST_F(PretrainedDecoderTest, ContinuesWithATableOfMoreRowsThanTokens) {
  const auto tokenizer = text::load_tokenizer(folder_ / "base");
  manual_seed(5);
  models::save(
      folder_ / "padded",
      models::Gpt({.vocab = 20 * tokenizer->vocab_size(), .d_model = 32, .layers = 1, .heads = 2, .max_length = 16}));
  tokenizer->save(folder_ / "padded");
  LanguageModelOptions given = going_on("run", 20);
  given.init->folder = folder_ / "padded";
  given.run.lr = 1e-6;  // so that rows without a token stay as likely as the others
  const LanguageModelResult result = train(given);
  EXPECT_EQ(result.run.step, 20);
  EXPECT_TRUE(result.run.warnings.empty());
  EXPECT_FALSE(result.run.evaluation->samples.empty());
  EXPECT_TRUE(fs::exists(folder_ / "run/model.safetensors"));
}

TEST_F(PretrainedDecoderTest, TrainsOnlyAdapters) {
  AdapterTraining adapters{.lora = {.rank = 4, .alpha = 8, .dropout = 0.1}, .targets = {"all-linear"}};
  const LanguageModelResult result = train(going_on("run", 30, adapters));
  EXPECT_LT(result.valid_loss, base_loss_ - 0.02);
  EXPECT_THAT(told_.str(), HasSubstr("trainable"));
  EXPECT_TRUE(models::is_adapter_folder(folder_ / "run"));
  EXPECT_TRUE(models::is_adapter_folder(folder_ / "run/checkpoint-30")) << "checkpoints have only adapters";
  const auto before = values_of("base"), after = values_of("run");
  for (const auto& [name, value] : before) EXPECT_TRUE(tensors_equal(after.at(name), value)) << name;
  EXPECT_EQ(after.size(), before.size() + 2 * 6 - 2) << "query, key and value share their A";
}

TEST_F(PretrainedDecoderTest, ResumesAdaptersBitwiseExactly) {
  const AdapterTraining adapters{.lora = {.rank = 4, .alpha = 8, .dropout = 0.1, .decomposed = true}};
  train(going_on("whole", 20, adapters));
  LanguageModelOptions given = going_on("parts", 20, adapters);
  int64_t asked = 0;
  given.run.interrupted = [&asked] { return ++asked > 13; };
  EXPECT_EQ(train(given).run.step, 13);
  given.run.interrupted = {};
  given.run.start = Start::resume;
  EXPECT_EQ(train(given).run.resumed_from, 13);
  const auto whole = values_of("whole"), parts = values_of("parts");
  for (const auto& [name, value] : whole) EXPECT_TRUE(tensors_equal(parts.at(name), value)) << name;
}

TEST_F(PretrainedDecoderTest, NeverSamplesTokensMissingFromTheTokenizer) {
  models::GptConfig config = models::load<models::Gpt>(folder_ / "base")->config();
  config.vocab += 1000;  // a padded table, whose extra rows are as likely here
  models::save(folder_ / "base", models::Gpt(config));
  EXPECT_NO_THROW(train(going_on("run", 2)));
}

TEST_F(PretrainedDecoderTest, DoesNotChangeFrozenParameters) {
  LanguageModelOptions given = going_on("run", 5);
  given.init->freeze = {"embeddings", "*.self_attention"};
  train(given);
  const auto before = values_of("base"), after = values_of("run");
  for (const auto& [name, value] : before) {
    const bool frozen = name.starts_with("embeddings.") || name.find(".self_attention.") != std::string::npos;
    EXPECT_EQ(bool(tensors_equal(after.at(name), value)), frozen) << name;
  }
}

TEST_F(PretrainedDecoderTest, ResumesOnlyWithTheSameModelAndAdapters) {
  train(going_on("run", 5, AdapterTraining{}));
  LanguageModelOptions given = going_on("run", 10, AdapterTraining{.lora = {.rank = 2, .alpha = 16}});
  given.run.start = Start::resume;
  EXPECT_THROW(train(given), Error);
  given = going_on("run", 10, AdapterTraining{});
  LanguageModelOptions other = options("base", 10);
  other.run.start = Start::overwrite;
  train(other);
  given.run.start = Start::resume;
  try {
    train(given);
    ADD_FAILURE() << "the base model is a different one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("below"));
  }
}

TEST_F(PretrainedDecoderTest, RefusesOptionsThatTheModelDetermines) {
  const auto refused = [this](const std::function<void(LanguageModelOptions&)>& change, const std::string& sentence) {
    LanguageModelOptions given = going_on("run", 5);
    change(given);
    EXPECT_TAPE_ERROR(train(given), ErrorKind::config, sentence);
    fs::remove_all(folder_ / "run");
  };
  refused([](auto& o) { o.layers = 2; }, "train lm: layers cannot be set with init, whose model determines it");
  refused([](auto& o) { o.run.dropout = 0.1; }, "train lm: dropout cannot be set with init, whose model determines it");
  refused([](auto& o) { o.context = 17; },
          fmt::format("train lm: context must be at most 16, the positions of {}, got 17", folder_ / "base"));
  refused([](auto& o) { o.run.preset = "nano"; }, "train lm: unknown preset \"nano\"; known: fine-tune");
  refused([](auto& o) { o.init->freeze = {"decoder"}; },
          "freeze: nothing in the model matches \"decoder\"; it has parameters such as embeddings.token.weight");
  refused([](auto& o) { o.init->freeze = {"*"}; }, "freeze: nothing is left to train");
}

}  // namespace
}  // namespace tape::train
