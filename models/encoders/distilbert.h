#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Sizes and choices of a DistilBERT; the defaults are the base model of Sanh et al. 2019.
struct DistilBertConfig {
  int64_t vocab = 30522;
  int64_t d_model = 768;
  int64_t layers = 6;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< positions
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of feed-forward blocks
  double attention_dropout = 0.1;  ///< of attention weights
  double sequence_dropout = 0.2;   ///< in front of a classifier of sequences
  double span_dropout = 0.1;       ///< in front of what finds answers
  int64_t padding_id = 0;          ///< hidden where no mask is given; its row is not trained
  double init_std = 0.02;          ///< deviation of the first weights
};

/// What a DistilBert is made of: BERT's parts without segments and pooler, half the layers, attention whose output is
/// not dropped. Error (config) naming the value that does not fit.
EncoderModelOptions parts_of(const DistilBertConfig& config);

/// The encoder of Sanh et al. 2019: token ids [B, T] to a vector a position [B, T, C].
class DistilBert : public EncoderModel {
 public:
  /// Error (config) naming the value that does not fit.
  explicit DistilBert(const DistilBertConfig& config) : EncoderModel(parts_of(config)), config_(config) {}

  const DistilBertConfig& config() const { return config_; }

 private:
  DistilBertConfig config_;
};

}  // namespace tape::models
