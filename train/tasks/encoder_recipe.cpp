#include "train/tasks/encoder_recipe.h"

#include "base/check.h"

namespace tape::train {
namespace {

/// What goes together.
void check(const EncoderTaskOptions& o) {
  const auto refuse = [&](bool given, const char* name, const char* why) {
    if (given) raise(ErrorKind::config, "{}: {} {}", o.task, name, why);
  };
  check_length(*o.run);
  refuse(!o.valid.empty() && o.valid_fraction, "valid_fraction", "does not go with a file to validate with");
  check_at_least_one(o.task, {{"batch", o.batch.value_or(1)},
                              {"batch_tokens", o.batch_tokens.value_or(1)},
                              {"max_length", o.max_length.value_or(1)},
                              {"vocab_size", o.vocab_size.value_or(1)},
                              {"layers", o.layers.value_or(1)},
                              {"width", o.width.value_or(1)},
                              {"heads", o.heads.value_or(1)}});
  if (!o.init.empty())
    refuse_of_init(o.task, {{"vocab_size", o.vocab_size.has_value()},
                            {"layers", o.layers.has_value()},
                            {"width", o.width.has_value()},
                            {"heads", o.heads.has_value()}});
  refuse(o.init.empty() && o.freeze, "freeze", "needs init: a model from scratch has nothing to keep");
  refuse(o.init.empty() && o.adapters, "adapters", "need init: a model to stand on");
  refuse(o.adapters && o.freeze, "freeze", "does not go with adapters, beside which the model stays as it is");
  if (o.adapters && models::is_adapter_folder(o.init))
    raise(ErrorKind::config, "{}: {} holds adapters; others stand on a whole model, as tapeformer merge makes one",
          o.task, o.init);
  refuse(o.init.empty() && o.run->layer_decay, "layer_decay", "needs init");
  refuse(o.init.empty() && o.new_head.value_or(false), "new_head", "needs init");
}

}  // namespace

EncoderPresets encoder_presets(const EncoderDefaults& small, const EncoderDefaults& fine_tune) {
  const auto preset = [](const char* name, const EncoderDefaults& d) {
    return EncoderPreset{.name = name,
                         .epochs = d.epochs,
                         .batch = d.batch,
                         .max_length = d.max_length,
                         .recipe = {.lr = d.lr, .dropout = d.dropout, .weight_decay = 0.01, .clip_norm = 1}};
  };
  EncoderPreset from_scratch = preset("small", small);
  from_scratch.vocab_size = 4000;
  from_scratch.layers = 2;
  from_scratch.width = 128;
  from_scratch.heads = 4;
  const EncoderPreset with_init = preset("fine-tune", fine_tune);
  EncoderPreset adapters = with_init;
  adapters.name = "adapters";
  adapters.recipe.lr *= 10;
  adapters.recipe.weight_decay = 0;
  return {.from_scratch = {from_scratch}, .with_init = {with_init}, .with_adapters = {adapters}};
}

const EncoderPresets& classifier_presets() {
  static const auto& all = *new const EncoderPresets(
      encoder_presets({.epochs = 10, .batch = 32, .max_length = 256, .lr = 1e-3, .dropout = 0.2},
                      {.epochs = 3, .batch = 32, .max_length = 512, .lr = 2e-4}));
  return all;
}

const EncoderPreset& encoder_preset(const EncoderPresets& presets, const EncoderTaskOptions& options) {
  check(options);
  const auto& chosen = options.init.empty() ? presets.from_scratch
                       : options.adapters   ? presets.with_adapters
                                            : presets.with_init;
  return find_preset(options.task, chosen, options.run->preset);
}

Recipe encoder_recipe(const EncoderPreset& preset, const TaskOptions& options, int64_t batches,
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
