#pragma once

#include <string>
#include <vector>

#include "../init/adapter_training.h"
#include "recipe.h"
#include "task.h"

namespace tape::train {

/// What every task that trains an encoder on lines of text is told beside what it learns from them.
struct EncoderTaskOptions {
  const char* task = "";  ///< "train classifier", in errors
  const TaskOptions* run = nullptr;
  std::string data, valid;  ///< files; without the second some of the first validate
  std::optional<double> valid_fraction;
  std::optional<int64_t> batch, batch_tokens, max_length;
  std::string init;                         ///< folder of an encoder to begin with; "": from scratch
  std::optional<bool> new_head;             ///< where the task has labels
  std::optional<AdapterTraining> adapters;  ///< in place of the model of init
  std::optional<int64_t> freeze, vocab_size, layers, width, heads;
};

/// Those of a task's own options, whose names are the same.
template <class Options>
EncoderTaskOptions encoder_task_options(const char* task, const Options& o) {
  EncoderTaskOptions all{.task = task,
                         .run = &o.run,
                         .data = o.data,
                         .valid = o.valid,
                         .valid_fraction = o.valid_fraction,
                         .batch = o.batch,
                         .batch_tokens = o.batch_tokens,
                         .max_length = o.max_length,
                         .init = o.init,
                         .new_head = {},
                         .adapters = o.adapters,
                         .freeze = o.freeze,
                         .vocab_size = o.vocab_size,
                         .layers = o.layers,
                         .width = o.width,
                         .heads = o.heads};
  if constexpr (requires { o.new_head; }) all.new_head = o.new_head;
  return all;
}

/// What a name of TaskOptions::preset stands for in such a task.
struct EncoderPreset {
  std::string name;
  double epochs = 0;
  int64_t batch = 0, max_length = 0;
  int64_t vocab_size = 0, layers = 0, width = 0, heads = 0;  ///< of a model from scratch
  Recipe recipe = {};                                        ///< without its length
};

/// A task's presets.
struct EncoderPresets {
  std::vector<EncoderPreset> from_scratch, with_init, with_adapters;
};
/// What the presets of one task have that those of another have not.
struct EncoderDefaults {
  double epochs = 0;
  int64_t batch = 0, max_length = 0;
  double lr = 0, dropout = 0;
};
/// One of each kind: "small" from scratch, "fine-tune" with init, and "adapters", which is that with ten times its rate
/// and no weight decay.
EncoderPresets encoder_presets(const EncoderDefaults& small, const EncoderDefaults& fine_tune);
/// Where a head that classifies is trained on an encoder, texts or tokens.
const EncoderPresets& classifier_presets();

/// The preset that the options name, of those for a model from scratch, with init or with adapters. Error (config) for
/// a name that is none of them, and for options that are out of range or do not go together.
const EncoderPreset& encoder_preset(const EncoderPresets& presets, const EncoderTaskOptions& options);

/// The recipe of a run with so many batches an epoch; a folder that the model begins with gives its dropout.
Recipe encoder_recipe(const EncoderPreset& preset, const TaskOptions& options, int64_t batches,
                      std::optional<double> dropout);

}  // namespace tape::train
