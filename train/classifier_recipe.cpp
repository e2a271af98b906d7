#include "train/classifier_recipe.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "train/classification.h"
#include "train/token_labels.h"

namespace tape::train {
namespace {

const std::vector<ClassifierPreset>& presets_from_scratch() {
  static const std::vector<ClassifierPreset> all{
      {.name = "small",
       .epochs = 10,
       .batch = 32,
       .max_length = 256,
       .vocab_size = 4000,
       .layers = 2,
       .width = 128,
       .heads = 4,
       .recipe = {.lr = 1e-3, .dropout = 0.2, .weight_decay = 0.01, .clip_norm = 1}},
  };
  return all;
}

const std::vector<ClassifierPreset>& presets_with_init() {
  static const std::vector<ClassifierPreset> all{
      {.name = "fine-tune",
       .epochs = 3,
       .batch = 32,
       .max_length = 512,
       .recipe = {.lr = 2e-4, .weight_decay = 0.01, .clip_norm = 1}},
  };
  return all;
}

/// What goes together.
template <class Options>
void check(const char* task, const Options& o) {
  const auto refuse = [task](bool given, const char* name, const char* why) {
    if (given) raise(ErrorKind::config, "{}: {} {}", task, name, why);
  };
  check_length(o.run);
  refuse(!o.valid.empty() && o.valid_fraction, "valid_fraction", "does not go with a file to validate with");
  check_at_least_one(task, {{"batch", o.batch.value_or(1)},
                            {"batch_tokens", o.batch_tokens.value_or(1)},
                            {"max_length", o.max_length.value_or(1)},
                            {"vocab_size", o.vocab_size.value_or(1)},
                            {"layers", o.layers.value_or(1)},
                            {"width", o.width.value_or(1)},
                            {"heads", o.heads.value_or(1)}});
  const std::pair<const char*, std::optional<int64_t>> sizes[] = {
      {"vocab_size", o.vocab_size}, {"layers", o.layers}, {"width", o.width}, {"heads", o.heads}};
  for (const auto& [name, value] : sizes)
    refuse(!o.init.empty() && value, name, "is that of init, and cannot be chosen");
  refuse(o.init.empty() && o.freeze, "freeze", "needs init: a model from scratch has nothing to keep");
  refuse(o.init.empty() && o.run.layer_decay, "layer_decay", "needs init");
  refuse(o.init.empty() && o.new_head, "new_head", "needs init");
}

}  // namespace

template <class Options>
const ClassifierPreset& classifier_preset(const char* task, const Options& options) {
  check(task, options);
  return find_preset(task, options.init.empty() ? presets_from_scratch() : presets_with_init(), options.run.preset);
}
template const ClassifierPreset& classifier_preset(const char*, const ClassificationOptions&);
template const ClassifierPreset& classifier_preset(const char*, const TokenLabelOptions&);

Recipe classifier_recipe(const ClassifierPreset& preset, const TaskOptions& options, int64_t batches,
                         std::optional<double> dropout) {
  Recipe recipe = preset.recipe;
  const int64_t accumulate = options.accumulate.value_or(1);
  recipe.steps = options.steps.value_or(steps_of(options.epochs.value_or(preset.epochs), batches, accumulate));
  recipe.warmup = recipe.steps / 10;
  recipe.evaluate_every = steps_of(1, batches, accumulate);
  if (dropout) recipe.dropout = *dropout;
  return with_options(recipe, options, batches);
}

}  // namespace tape::train
