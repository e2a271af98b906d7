#pragma once

#include "../encoders/encoder_config.h"

namespace tape::models {

/// An encoder with a head that says which word is hidden at each position: token ids [B, T] to logits [B, T, V]. The
/// head's matrix is the token table (Devlin et al. 2019, 3.1).
class MaskedLanguageModel : public nn::Layer<MaskedLanguageModel> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit MaskedLanguageModel(const EncoderConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, V]. Errors as EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);
  /// What forward() gives at some positions alone, whose head costs so much less: places [N] (i64), b T + t each ->
  /// logits [N, V]. Error (index) for a place outside of ids.
  Tensor at(const Tensor& ids, const Mask& mask, const Tensor& places);
  /// The mean cross-entropy of the labels [B, T] (i64), -100 where none is asked for; 0 where all are.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  const EncoderConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;  ///< called as its family is: "bert"
  nn::Child<nn::MaskedTokenHead> head;

 private:
  EncoderConfig config_;
};

}  // namespace tape::models
