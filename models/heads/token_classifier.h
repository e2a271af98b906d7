#pragma once

#include "../encoders/encoder_config.h"

namespace tape::models {

/// An encoder and what is said of each token.
struct TokenClassifierConfig {
  EncoderConfig encoder = {};
  int64_t num_labels = 2;
  std::optional<double> dropout = {};    ///< in front of the classifier; the family's where not given
  std::vector<std::string> labels = {};  ///< their names; none, or num_labels of them

  /// One name a label: LABEL_0, LABEL_1, ... where there are none, as transformers has it.
  std::vector<std::string> label_names() const;
};

/// An encoder, dropout and a linear layer at each position: token ids [B, T] to logits [B, T, num_labels], what names
/// in texts and parts of speech are found with (Devlin et al. 2019, 5.3).
class TokenClassifier : public nn::Layer<TokenClassifier> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit TokenClassifier(const TokenClassifierConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, num_labels]. Errors as EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);
  /// The mean cross-entropy of the labels [B, T] (i64), -100 where none is asked for; 0 where all are.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  const TokenClassifierConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;  ///< called as its family is: "bert"
  nn::Child<nn::ClassificationHead> head;

 private:
  TokenClassifierConfig config_;
};

}  // namespace tape::models
