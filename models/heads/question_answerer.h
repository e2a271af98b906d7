#pragma once

#include "../encoders/encoder_config.h"

namespace tape::models {

/// Options of a QuestionAnswerer.
struct QuestionAnswererConfig {
  EncoderConfig encoder = {};          ///< the encoder; its pooler is not used
  std::optional<double> dropout = {};  ///< before the last layer; default: the family's
};

/// An encoder and a linear layer that scores each position as the first and as the last of an answer: token ids [B, T]
/// to logits [B, T, 2] (Devlin et al. 2019, 4.2).
class QuestionAnswerer : public nn::Layer<QuestionAnswerer> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit QuestionAnswerer(const QuestionAnswererConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, 2], for starts and ends. Throws the errors of EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// forward() with the padding masked.
  Tensor forward(const Tensor& ids);
  /// Mean of the two cross-entropies over positions, for the starts and the ends of the answers: positions [B] (i64),
  /// where those from T on are ignored and negative ones are clamped to 0, as in transformers. Masked positions take
  /// part, as they do there; positions whose queries see no key (of a Deberta, or because of a window) differ from
  /// transformers. Throws Error (shape) for positions that are not [B], (dtype) unless i64.
  Tensor loss(const Tensor& logits, const Tensor& starts, const Tensor& ends) const;

  /// The configuration given to the constructor.
  const QuestionAnswererConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;            ///< named after its family: "bert"
  nn::Child<nn::ClassificationHead> head;  ///< hidden states to logits [B, T, 2]

 private:
  QuestionAnswererConfig config_;
};

}  // namespace tape::models
