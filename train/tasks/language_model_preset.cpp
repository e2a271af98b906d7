#include "train/tasks/language_model_preset.h"

#include <vector>

namespace tape::train {
namespace {

const std::vector<LanguageModelPreset>& presets_from_nothing() {
  static const auto& all = *new const std::vector<LanguageModelPreset>{
      {.name = "nano",
       .layers = 4,
       .width = 128,
       .heads = 4,
       .context = 64,
       .batch = 12,
       .least_lr = 0.1,
       .recipe =
           {.steps = 2000, .lr = 1e-3, .warmup = 100, .weight_decay = 0.1, .clip_norm = 1, .evaluate_every = 250}},
      {.name = "shakespeare",
       .layers = 6,
       .width = 192,
       .heads = 6,
       .context = 256,
       .batch = 16,
       .least_lr = 0,
       .recipe = {.steps = 3000,
                  .lr = 2e-3,
                  .warmup = 100,
                  .dropout = 0.1,
                  .weight_decay = 0.1,
                  .clip_norm = 1,
                  .evaluate_every = 250}},
  };
  return all;
}

const std::vector<LanguageModelPreset>& presets_with_init() {
  static const auto& all = *new const std::vector<LanguageModelPreset>{
      {.name = "fine-tune",
       .context = 256,
       .batch = 8,
       .least_lr = 0.1,
       .recipe = {.steps = 500, .lr = 1e-4, .warmup = 50, .weight_decay = 0.1, .clip_norm = 1, .evaluate_every = 100}},
  };
  return all;
}

const std::vector<LanguageModelPreset>& presets_with_adapters() {
  static const auto& all = *new const std::vector<LanguageModelPreset>{
      {.name = "adapters",
       .context = 256,
       .batch = 8,
       .least_lr = 0.1,
       .recipe = {.steps = 500, .lr = 1e-3, .warmup = 50, .clip_norm = 1, .evaluate_every = 100}},
  };
  return all;
}

}  // namespace

const LanguageModelPreset& language_model_preset(const LanguageModelOptions& options) {
  const std::string& name = options.run.preset;
  if (!options.init) {
    check_needs_no_init("train lm", presets_with_init(), name);
    check_needs_no_init("train lm", presets_with_adapters(), name);
    return find_preset("train lm", presets_from_nothing(), name);
  }
  check_not_set_with_init("train lm", {{"layers", options.layers.has_value()},
                                       {"width", options.width.has_value()},
                                       {"heads", options.heads.has_value()},
                                       {"kv_heads", options.kv_heads.has_value()},
                                       {"window", options.window.has_value()},
                                       {"activation", options.activation.has_value()},
                                       {"tokenizer", !options.tokenizer.empty()},
                                       {"dropout", options.run.dropout.has_value()}});
  return find_preset("train lm", options.init->adapters ? presets_with_adapters() : presets_with_init(), name);
}

}  // namespace tape::train
