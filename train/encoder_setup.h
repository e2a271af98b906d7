#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "../text/batch_plan.h"
#include "../text/byte_level_bpe.h"
#include "encoder_recipe.h"
#include "fine_tuning.h"

namespace tape::train {

/// A byte-level BPE learned from lines that can pad and, with `mask`, hide words; GPT-2's has no token for either.
std::unique_ptr<text::ByteLevelBpe> train_encoder_tokenizer(std::span<const std::string> lines, int64_t vocab_size,
                                                            bool mask = false);

/// What the tasks that train an encoder have in common: where it begins, how large it and its batches are.
class EncoderSetup {
 public:
  /// Reads the folder to begin with; `presets` must outlive this. `what` begins with an encoder, as its errors say: "a
  /// classifier". Errors as encoder_preset() and read_pretrained().
  EncoderSetup(EncoderTaskOptions options, const EncoderPresets& presets, const char* what);

  /// Null from scratch.
  Pretrained* pretrained() { return pretrained_ ? &*pretrained_ : nullptr; }
  const Pretrained* pretrained() const { return pretrained_ ? &*pretrained_ : nullptr; }

  int64_t vocab_size() const { return options_.vocab_size.value_or(preset_.vocab_size); }
  double valid_fraction() const { return options_.valid_fraction.value_or(0.1); }
  /// The file that the lines of validation come from.
  const std::string& valid_name() const { return options_.valid.empty() ? options_.data : options_.valid; }
  /// Tokens of a line at most. Error (config) for more than the model has positions.
  int64_t max_length() const;
  /// Error (config) for fewer tokens than a line can have.
  text::BatchOptions batching() const;
  Recipe recipe(int64_t batches) const;
  /// A model from scratch. Error (out_of_memory) for one that this machine cannot train.
  models::BertConfig from_scratch(const text::Tokenizer& tokenizer, double dropout) const;
  /// Holds still what the options freeze, and lets go of the values to begin with.
  void made(nn::Module& model);
  /// Of the run: see TaskRun::add_settings().
  void add_settings(nlohmann::ordered_json& json, const models::EncoderModelOptions& model) const;

 private:
  const EncoderTaskOptions options_;
  const EncoderPreset& preset_;
  std::optional<Pretrained> pretrained_;
};

}  // namespace tape::train
