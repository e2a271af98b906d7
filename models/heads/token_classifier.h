#pragma once

#include "../encoders/encoder_config.h"

namespace tape::models {

/// Options of a TokenClassifier.
struct TokenClassifierConfig {
  EncoderConfig encoder = {};            ///< the encoder; its pooler is not used
  int64_t num_labels = 2;                ///< number of labels
  std::optional<double> dropout = {};    ///< before the classifier; default: the family's
  std::vector<std::string> labels = {};  ///< label names; empty, or num_labels of them

  /// One name per label: LABEL_0, LABEL_1, ... if unset, as in transformers.
  std::vector<std::string> label_names() const;
};

/// An encoder, dropout and a linear layer at each position: token ids [B, T] to logits [B, T, num_labels], for named
/// entities and parts of speech (Devlin et al. 2019, 5.3).
class TokenClassifier : public nn::Layer<TokenClassifier> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit TokenClassifier(const TokenClassifierConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, num_labels]. Throws the errors of EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// forward() with the padding masked.
  Tensor forward(const Tensor& ids);
  /// Mean cross-entropy of the labels [B, T] (i64), where -100 is ignored; 0 if all are ignored.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  /// The configuration given to the constructor.
  const TokenClassifierConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;            ///< named after its family: "bert"
  nn::Child<nn::ClassificationHead> head;  ///< hidden states to logits [B, T, num_labels]

 private:
  TokenClassifierConfig config_;
};

}  // namespace tape::models
