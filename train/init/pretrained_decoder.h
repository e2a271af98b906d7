#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../../text/tokenizer.h"
#include "adapter_training.h"

namespace tape::train {

/// What a run begins with, where that is not nothing.
struct DecoderStart {
  std::string folder;  ///< of any decoder-only model with its tokenizer
  std::optional<AdapterTraining> adapters = {};
  std::vector<std::string> freeze = {};  ///< patterns of modules and parameters that stay as they are
};

/// What the bits of a run depend on: every option, and the files whose content no checkpoint holds (settings.h).
nlohmann::ordered_json to_json(const DecoderStart& start);

/// A decoder-only model from a folder, and what of it is trained.
class PretrainedDecoder {
 public:
  /// Reads the folder's tokenizer, and its configuration with the weights. Error (config) for a folder of another class
  /// of model, one that holds adapters, a tokenizer with more tokens than the model; (format) and (io) as models::load
  /// and text::load_tokenizer.
  explicit PretrainedDecoder(const DecoderStart& start);

  /// The model in training mode, given away: with adapters where they are asked for, from the stream of first values,
  /// and still where it is frozen. Error (config) for a pattern that fits nothing.
  std::unique_ptr<models::CausalLM> take_model();
  std::unique_ptr<text::Tokenizer> take_tokenizer() { return std::move(tokenizer_); }
  /// Tokens that the model can see at once; none where there is no limit.
  std::optional<int64_t> max_length() const { return max_length_; }

  bool has_adapters() const { return start_.adapters.has_value(); }
  /// What a run with adapters saves: they alone, in peft's folder.
  void save_adapters(const std::string& folder, models::CausalLM& model) const;
  /// The values of the model with the adapters of such a folder.
  nn::StateDict load_adapters(const std::string& folder, models::CausalLM& model) const;

 private:
  const DecoderStart& start_;
  std::unique_ptr<models::CausalLM> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<int64_t> max_length_;
};

}  // namespace tape::train
