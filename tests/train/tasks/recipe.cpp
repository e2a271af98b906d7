#include "train/tasks/recipe.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/labeled_files.h"
#include "tests/train/one_thread.h"
#include "tests/train/run_log.h"
#include "text/corpus/number_words.h"
#include "train/checkpoints/checkpoint.h"
#include "train/tasks/classification.h"
#include "train/tasks/encoder_setup.h"
#include "train/tasks/language_model.h"
#include "train/tasks/language_model_preset.h"
#include "train/tasks/translation.h"
#include "train/tasks/translation_preset.h"

namespace tape::train {
namespace {

/// Checks the constants of the recipes in runs of a few steps.
class RecipeTest : public testing::Test {
 protected:
  RecipeTest() {
    std::string german, english;
    for (int64_t n = 0; n < 60; ++n) {
      german += text::german_number(n) + "\n";
      english += text::english_number(n) + "\n";
    }
    write_text(folder_ / "de", german), write_text(folder_ / "en", english);
    write_text(folder_ / "labelled", labeled_text(60, 1));
  }
  std::string run() const { return folder_ / "run"; }
  TaskOptions of_steps(int64_t steps) const {
    TaskOptions options{.out = run(), .start = Start::overwrite, .steps = steps, .lr = 1e-3, .warmup = 0};
    options.average_last = 0;
    return options;
  }
  void language_model(int64_t steps, const std::string& preset = "") {
    LanguageModelOptions options{
        .run = of_steps(steps), .text = folder_ / "en", .context = 8, .batch = 4, .layers = 1, .width = 16, .heads = 2};
    options.run.preset = preset;
    train_language_model(options, told_, {});
  }
  void translation(int64_t steps) {
    TranslationOptions options;
    options.run = of_steps(steps);
    options.train = options.valid = {.src = folder_ / "de", .tgt = folder_ / "en"};
    options.vocab_size = 60, options.batch_tokens = 100, options.max_length = 40;
    options.layers = 1, options.width = 16, options.heads = 2;
    train_translation(options, told_, {});
  }
  void classifier(int64_t steps) {
    ClassificationOptions options;
    options.run = of_steps(steps), options.data = folder_ / "labelled", options.vocab_size = 300;
    options.layers = 1, options.width = 16, options.heads = 2;
    train_classification(options, told_, {});
  }

  /// Adam's betas, from its moments after one step: m = (1 - beta1) g and v = (1 - beta2) g^2, with the clipped
  /// gradient g, whose norm is at most 1.
  struct Betas {
    double first = 0, second = 0;
  };
  Betas betas() const {
    double squares = 0, second = 0;
    for (const auto& [name, tensor] : load_checkpoint(run() + "/checkpoint-1").optimizer) {
      const bool is_m = name.ends_with(".m"), is_v = name.ends_with(".v");
      if (!is_m && !is_v) continue;
      for (const float value : tensor.to_vector<float>()) {
        const double x = value;
        if (is_m) squares += x * x;
        if (is_v) second += x;
      }
    }
    const double norm = std::min(1.0, events_of(run(), "step").at(0)["grad_norm"].get<double>());
    return {.first = 1 - std::sqrt(squares) / norm, .second = 1 - second / (norm * norm)};
  }
  /// Learning rate of the last step relative to the peak.
  double last_rate() const { return events_of(run(), "step").back()["lr"].get<double>() / 1e-3; }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  std::ostringstream told_;
};

TEST_F(RecipeTest, HasTheBetasOfItsTask) {
  const auto expect = [this](const char* task, double first, double second) {
    const Betas found = betas();
    EXPECT_NEAR(found.first, first, 1e-4) << task;
    EXPECT_NEAR(found.second, second, 1e-4) << task;
  };
  language_model(1);
  expect("language model", 0.9, 0.99);
  translation(1);
  expect("translation", 0.9, 0.98);
  classifier(1);
  expect("classifier", 0.9, 0.999);
}

TEST_F(RecipeTest, EndsAtTheLearningRateOfItsTask) {
  language_model(8);
  EXPECT_NEAR(last_rate(), 0.1, 1e-9);
  language_model(8, "shakespeare");
  EXPECT_NEAR(last_rate(), 0, 1e-9);
  translation(8);
  EXPECT_NEAR(last_rate(), 0.01, 1e-9);
  classifier(8);
  EXPECT_NEAR(last_rate(), 0, 1e-9);
}

/// Steps, lr, warm-up, dropout, weight decay, clip norm, steps between evaluations, number of averaged checkpoints.
std::string values_of(const Recipe& r) {
  return fmt::format("{} {:g} {} {:g} {:g} {:g} {} {}", r.steps, r.lr, r.warmup, r.dropout, r.weight_decay, r.clip_norm,
                     r.evaluate_every, r.average_last);
}

// The tables of `tapeformer train lm --help` and the other commands.
TEST(RecipePresets, LanguageModelPresetsMatchTheHelpText) {
  const auto values = [](const LanguageModelOptions& options) {
    const LanguageModelPreset& p = language_model_preset(options);
    return fmt::format("{} {} {} {} {} {} {:g} | {}", p.name, p.layers, p.width, p.heads, p.context, p.batch,
                       p.least_lr, values_of(p.recipe));
  };
  LanguageModelOptions options;
  EXPECT_EQ(values(options), "nano 4 128 4 64 12 0.1 | 2000 0.001 100 0 0.1 1 250 0");
  options.run.preset = "shakespeare";
  EXPECT_EQ(values(options), "shakespeare 6 192 6 256 16 0 | 3000 0.002 100 0.1 0.1 1 250 0");
  options.run.preset = "";
  options.init = DecoderInit{.folder = "gpt2"};
  EXPECT_EQ(values(options), "fine-tune 0 0 0 256 8 0.1 | 500 0.0001 50 0 0.1 1 100 0");
  options.init->adapters = AdapterTraining{};
  EXPECT_EQ(values(options), "adapters 0 0 0 256 8 0.1 | 500 0.001 50 0 0 1 100 0");
}

TEST(RecipePresets, TranslationPresetsMatchTheHelpText) {
  const auto values = [](const std::string& name, const std::string& init = "") {
    TranslationOptions options;
    options.run.preset = name, options.init = init;
    const TranslationPreset& p = translation_preset(options);
    return fmt::format("{} {} {} {} {} {} {} {} | {}", p.name, p.layers, p.d_model, p.heads, p.d_ff,
                       p.norm == nn::NormPlace::pre ? "pre" : "post", p.vocab_size, p.batch_tokens,
                       values_of(p.recipe));
  };
  EXPECT_EQ(values(""), "tiny 4 128 4 256 pre 10000 4096 | 10000 0.005 1000 0.3 0 1 500 5");
  EXPECT_EQ(values("small"), "small 3 256 4 1024 pre 10000 4096 | 10000 0.002 1000 0.2 0 1 1000 5");
  EXPECT_EQ(values("base"), "base 6 512 8 2048 pre 16000 4096 | 100000 0.001 4000 0.1 0 1 2000 5");
  EXPECT_EQ(values("", "marian"), "fine-tune 0 0 0 0 pre 0 2048 | 1000 5e-05 100 0 0 1 100 0");
}

TEST(RecipePresets, ClassifierPresetsMatchTheHelpText) {
  const auto values = [](const std::vector<EncoderPreset>& presets) {
    const EncoderPreset& p = presets.at(0);
    return fmt::format("{} {:g} {} {} {} {} {} {} | {:g} {:g} {:g} {:g}", p.name, p.epochs, p.batch, p.max_length,
                       p.vocab_size, p.layers, p.width, p.heads, p.recipe.lr, p.recipe.dropout, p.recipe.weight_decay,
                       p.recipe.clip_norm);
  };
  const EncoderPresets& presets = classifier_presets();
  EXPECT_EQ(values(presets.from_scratch), "small 10 32 256 4000 2 128 4 | 0.001 0.2 0.01 1");
  EXPECT_EQ(values(presets.with_init), "fine-tune 3 32 512 0 0 0 0 | 0.0002 0 0.01 1");
  EXPECT_EQ(values(presets.with_adapters), "adapters 3 32 512 0 0 0 0 | 0.002 0 0 1");
}

}  // namespace
}  // namespace tape::train
