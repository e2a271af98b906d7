#include "train/tasks/translation_preset.h"

#include <vector>

#include "base/error.h"

namespace tape::train {
namespace {

const std::vector<TranslationPreset>& translation_presets() {
  using enum nn::NormPlace;
  // The model of tiny is that of Wu et al. 2021 for Multi30k, but with pre-norm, which learns in a fifth of the steps.
  static const auto& all = *new const std::vector<TranslationPreset>{
      {.name = "tiny",
       .layers = 4,
       .d_model = 128,
       .heads = 4,
       .d_ff = 256,
       .norm = pre,
       .vocab_size = 10'000,
       .batch_tokens = 4096,
       .recipe = {.steps = 10'000,
                  .lr = 5e-3,
                  .warmup = 1000,
                  .dropout = 0.3,
                  .clip_norm = 1,
                  .evaluate_every = 500,
                  .average_last = 5}},
      {.name = "small",
       .layers = 3,
       .d_model = 256,
       .heads = 4,
       .d_ff = 1024,
       .norm = pre,
       .vocab_size = 10'000,
       .batch_tokens = 4096,
       .recipe = {.steps = 10'000,
                  .lr = 2e-3,
                  .warmup = 1000,
                  .dropout = 0.2,
                  .clip_norm = 1,
                  .evaluate_every = 1000,
                  .average_last = 5}},
      {.name = "base",
       .layers = 6,
       .d_model = 512,
       .heads = 8,
       .d_ff = 2048,
       .norm = pre,
       .vocab_size = 16'000,
       .batch_tokens = 4096,
       .recipe = {.steps = 100'000,
                  .lr = 1e-3,
                  .warmup = 4000,
                  .dropout = 0.1,
                  .clip_norm = 1,
                  .evaluate_every = 2000,
                  .average_last = 5}},
  };
  return all;
}

const std::vector<TranslationPreset>& translation_presets_with_init() {
  static const auto& all = *new const std::vector<TranslationPreset>{
      {.name = "fine-tune",
       .layers = 0,
       .d_model = 0,
       .heads = 0,
       .d_ff = 0,
       .norm = nn::NormPlace::pre,
       .vocab_size = 0,
       .batch_tokens = 2048,
       .recipe = {.steps = 1000, .lr = 5e-5, .warmup = 100, .clip_norm = 1, .evaluate_every = 100}},
  };
  return all;
}

}  // namespace

const TranslationPreset& translation_preset(const TranslationOptions& o) {
  if (o.init.empty() && !o.freeze.empty()) raise(ErrorKind::config, "train translation: freeze requires init");
  if (o.init.empty() && !(o.languages.source.empty() && o.languages.target.empty() && o.prefix.empty()))
    raise(ErrorKind::config, "train translation: languages and prefix require init");
  if (o.init.empty()) {
    check_needs_no_init("train translation", translation_presets_with_init(), o.run.preset);
    return find_preset("train translation", translation_presets(), o.run.preset);
  }
  check_not_set_with_init("train translation", {{"layers", o.layers.has_value()},
                                                {"width", o.width.has_value()},
                                                {"heads", o.heads.has_value()},
                                                {"norm", o.norm.has_value()},
                                                {"vocab_size", o.vocab_size.has_value()},
                                                {"dropout", o.run.dropout.has_value()}});
  return find_preset("train translation", translation_presets_with_init(), o.run.preset);
}

}  // namespace tape::train
