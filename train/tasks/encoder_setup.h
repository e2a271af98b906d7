#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../../models/encoders/encoder_config.h"
#include "../../text/batch_plan.h"
#include "../../text/byte_level_bpe.h"
#include "../../text/text_reader.h"
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

/// A byte-level BPE learned from lines that can pad and, with `mask`, hide words; GPT-2's has no token for either.
std::unique_ptr<text::ByteLevelBpe> train_encoder_tokenizer(const text::NextPiece& lines, int64_t vocab_size,
                                                            bool mask = false);

/// What the options of a task that trains an encoder come to: how large it and its batches are, how it learns.
class EncoderSetup {
 public:
  /// `presets` must outlive this. Errors as encoder_preset().
  EncoderSetup(EncoderTaskOptions options, const EncoderPresets& presets);
  /// The encoder of init, as its folder has it.
  void begin_with(models::EncoderConfig encoder) { init_ = std::move(encoder); }

  const EncoderTaskOptions& options() const { return options_; }
  int64_t vocab_size() const { return options_.vocab_size.value_or(preset_.vocab_size); }
  double valid_fraction() const { return options_.valid_fraction.value_or(0.1); }
  /// The file that the examples of validation come from.
  const std::string& valid_name() const { return options_.valid.empty() ? options_.data : options_.valid; }
  /// Tokens of an example at most. Error (config) for more than the model has positions.
  int64_t max_length() const;
  /// Error (config) for fewer tokens than an example can have.
  text::BatchOptions batching() const;
  /// The batches of an epoch, of examples of these lengths.
  std::vector<std::vector<int64_t>> plan(const std::vector<text::ExampleLength>& lengths, int64_t epoch) const;
  Recipe recipe(int64_t batches) const;
  /// The encoder of a model from scratch.
  models::BertConfig from_scratch(const text::Tokenizer& tokenizer, double dropout) const;
  /// Of the run, which trains such an encoder: see TaskRun::add_settings(). Called by all of its ranks.
  void add_settings(nlohmann::ordered_json& json, const models::EncoderModelOptions& model) const;

 private:
  const EncoderTaskOptions options_;
  const EncoderPreset& preset_;
  std::optional<models::EncoderConfig> init_;
};

}  // namespace tape::train
