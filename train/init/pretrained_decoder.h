#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../text/tokenizers/tokenizer.h"
#include "adapter_training.h"

namespace tape::train {

/// The model that a run starts from, unless it trains from scratch.
struct DecoderInit {
  std::string folder;  ///< any decoder-only model with its tokenizer
  std::optional<AdapterTraining> adapters = {};
  std::vector<std::string> freeze = {};  ///< patterns of modules and parameters to freeze
};

/// A decoder-only model from a folder, and which parts of it are trained.
class PretrainedDecoder {
 public:
  /// Reads the folder's tokenizer, configuration and weights. Throws Error (config) for a folder of another model
  /// class, one with adapters, or a tokenizer with more tokens than the model; (format) and (io) as models::load and
  /// text::load_tokenizer.
  explicit PretrainedDecoder(const DecoderInit& start);

  /// Hands over the model in training mode, with adapters if requested, initialized at random, and frozen as requested.
  /// Throws Error (config) for a pattern without a match.
  std::unique_ptr<models::CausalLM> take_model();
  std::unique_ptr<text::Tokenizer> take_tokenizer() { return std::move(tokenizer_); }
  /// Maximum context in tokens; nullopt if unlimited.
  std::optional<int64_t> max_length() const { return max_length_; }

  bool has_adapters() const { return start_.adapters.has_value(); }
  /// Saves only the adapters, in peft's format: for runs that train them.
  void save_adapters(const std::string& folder, models::CausalLM& model) const;
  /// The model's values with the adapters of such a folder.
  nn::StateDict load_adapters(const std::string& folder, models::CausalLM& model) const;

 private:
  const DecoderInit& start_;
  std::unique_ptr<models::CausalLM> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<int64_t> max_length_;
};

}  // namespace tape::train
