#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../../models/encoders/encoder_config.h"
#include "../../text/corpus/batch_plan.h"
#include "../../text/corpus/text_reader.h"
#include "../../text/tokenizers/byte_level_bpe.h"
#include "../init/adapter_training.h"
#include "recipe.h"
#include "task.h"

namespace tape::train {

/// Options common to all tasks that train an encoder on lines of text, apart from their targets.
struct EncoderTaskOptions {
  const char* task = "";  ///< "train classifier", in errors
  const TaskOptions* run = nullptr;
  std::string data, valid;  ///< files; without `valid`, a part of `data` is used for validation
  std::optional<double> valid_fraction;
  std::optional<int64_t> batch, batch_tokens, max_length;
  std::string init;                         ///< folder of an encoder to start from; "": from scratch
  std::optional<bool> new_head;             ///< for tasks with labels
  std::optional<AdapterTraining> adapters;  ///< trained instead of the model of init
  std::optional<int64_t> freeze, vocab_size, layers, width, heads;
};

/// Extracts them from a task's own options, which have the same field names.
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

/// A preset of such a task, selected by TaskOptions::preset.
struct EncoderPreset {
  std::string name;
  double epochs = 0;
  int64_t batch = 0, max_length = 0;
  int64_t vocab_size = 0, layers = 0, width = 0, heads = 0;  ///< for a model from scratch
  Recipe recipe = {};                                        ///< steps are set later, from the epochs
};

/// A task's presets.
struct EncoderPresets {
  std::vector<EncoderPreset> from_scratch, with_init, with_adapters;
};
/// Values by which the presets of different tasks differ.
struct EncoderDefaults {
  double epochs = 0;
  int64_t batch = 0, max_length = 0;
  double lr = 0, dropout = 0;
};
/// One preset of each kind: "small" from scratch, "fine-tune" with init, and "adapters", which is fine-tune with ten
/// times the learning rate and no weight decay.
EncoderPresets encoder_presets(const EncoderDefaults& small, const EncoderDefaults& fine_tune);
/// Presets for training a text or token classification head on an encoder.
const EncoderPresets& classifier_presets();

/// The preset that the options name, among those from scratch, with init or with adapters. Throws Error (config) for an
/// unknown name, and for options that are out of range or cannot be combined.
const EncoderPreset& encoder_preset(const EncoderPresets& presets, const EncoderTaskOptions& options);

/// The recipe of a run with this many batches per epoch. A model that starts from a folder has the folder's dropout.
Recipe encoder_recipe(const EncoderPreset& preset, const TaskOptions& options, int64_t batches,
                      std::optional<double> dropout);

/// Trains a byte-level BPE on lines, with a padding token and, with `mask`, a mask token; GPT-2's has neither.
std::unique_ptr<text::ByteLevelBpe> train_encoder_tokenizer(const text::NextPiece& lines, int64_t vocab_size,
                                                            bool mask = false);

/// The effective settings of an encoder task: sizes of the model and its batches, and the recipe.
class EncoderSetup {
 public:
  /// `presets` must outlive this. Errors as encoder_preset().
  EncoderSetup(EncoderTaskOptions options, const EncoderPresets& presets);
  /// Sets the encoder configuration of init.
  void begin_with(models::EncoderConfig encoder) { init_ = std::move(encoder); }

  const EncoderTaskOptions& options() const { return options_; }
  int64_t vocab_size() const { return options_.vocab_size.value_or(preset_.vocab_size); }
  double valid_fraction() const { return options_.valid_fraction.value_or(0.1); }
  /// The file with the validation examples.
  const std::string& valid_name() const { return options_.valid.empty() ? options_.data : options_.valid; }
  /// Maximum tokens per example. Throws Error (config) if the model has fewer positions.
  int64_t max_length() const;
  /// Maximum tokens per batch. Throws Error (config) if an example may be longer.
  text::BatchOptions batching() const;
  /// The batches of an epoch, for examples of these lengths.
  std::vector<std::vector<int64_t>> plan(const std::vector<text::ExampleLength>& lengths, int64_t epoch) const;
  Recipe recipe(int64_t batches) const;
  /// Encoder configuration of a model from scratch.
  models::BertConfig from_scratch(const text::Tokenizer& tokenizer, double dropout) const;
  /// Settings of a run that trains such an encoder: see TaskRun::add_settings(). All ranks must call it.
  void add_settings(nlohmann::ordered_json& json, const models::EncoderModelOptions& model) const;

 private:
  const EncoderTaskOptions options_;
  const EncoderPreset& preset_;
  std::optional<models::EncoderConfig> init_;
};

}  // namespace tape::train
