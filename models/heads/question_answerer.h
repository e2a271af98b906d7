#pragma once

#include "../encoders/encoder_config.h"

namespace tape::models {

/// An encoder and what is said of the places where an answer begins and ends.
struct QuestionAnswererConfig {
  EncoderConfig encoder = {};
  std::optional<double> dropout = {};  ///< in front of the last layer; the family's where not given
};

/// An encoder and a linear layer that scores each position as the first and as the last of an answer: token ids [B, T]
/// to logits [B, T, 2] (Devlin et al. 2019, 4.2).
class QuestionAnswerer : public nn::Layer<QuestionAnswerer> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit QuestionAnswerer(const QuestionAnswererConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, 2], of beginnings and ends. Errors as EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);
  /// The mean of two cross-entropies over positions, of where the answers begin and where they end: places [B] (i64),
  /// those from T on and below 0 as transformers has them, ignored and taken for 0. Hidden positions take part, too, as
  /// they do there; those whose queries see no key (of a Deberta, or behind a window) give something else there. Error
  /// (shape) for places that are not [B], (dtype) unless i64.
  Tensor loss(const Tensor& logits, const Tensor& starts, const Tensor& ends) const;

  const QuestionAnswererConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;  ///< called as its family is: "bert"
  nn::Child<nn::ClassificationHead> head;

 private:
  QuestionAnswererConfig config_;
};

}  // namespace tape::models
