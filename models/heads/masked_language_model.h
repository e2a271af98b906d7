#pragma once

#include "../encoders/encoder_config.h"

namespace tape::models {

/// An encoder with a head that predicts the masked token at each position: token ids [B, T] to logits [B, T, V]. The
/// head's matrix is the token table (Devlin et al. 2019, 3.1).
class MaskedLanguageModel : public nn::Layer<MaskedLanguageModel> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit MaskedLanguageModel(const EncoderConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, V]. Throws the errors of EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// forward() with the padding masked.
  Tensor forward(const Tensor& ids);
  /// The rows of forward() at some positions only, which saves most of the head's cost: places [N] (i64), b T + t each
  /// -> logits [N, V]. Throws Error (index) for a position outside ids.
  Tensor at(const Tensor& ids, const Mask& mask, const Tensor& places);
  /// Mean cross-entropy of the labels [B, T] (i64), where -100 is ignored; 0 if all are ignored.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  /// The configuration given to the constructor.
  const EncoderConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;         ///< named after its family: "bert"
  nn::Child<nn::MaskedTokenHead> head;  ///< hidden states to logits [B, T, V]

 private:
  EncoderConfig config_;
};

}  // namespace tape::models
