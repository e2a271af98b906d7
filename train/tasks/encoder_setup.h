#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../../models/encoders/encoder_config.h"
#include "../../text/batch_plan.h"
#include "../../text/byte_level_bpe.h"
#include "../../text/text_reader.h"
#include "encoder_recipe.h"

namespace tape::train {

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
