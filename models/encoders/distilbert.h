#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Options of a DistilBERT; the defaults are the base model of Sanh et al. 2019.
struct DistilBertConfig {
  int64_t vocab = 30522;
  int64_t d_model = 768;
  int64_t layers = 6;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< number of positions
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of feed-forward blocks
  double attention_dropout = 0.1;  ///< of attention weights
  double sequence_dropout = 0.2;   ///< before a sequence classifier
  double span_dropout = 0.1;       ///< before a question answering head
  int64_t padding_id = 0;          ///< masked if no mask is given; its embedding is not trained
  double init_std = 0.02;          ///< standard deviation of the initial weights
};

/// Architecture of a DistilBert: BERT without segments and pooler, half the layers, and no dropout of the attention
/// output. Throws Error (config) naming the invalid value.
EncoderModelOptions model_options(const DistilBertConfig& config);

/// The encoder of Sanh et al. 2019: token ids [B, T] to hidden states [B, T, C].
class DistilBert : public EncoderModel {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit DistilBert(const DistilBertConfig& config) : EncoderModel(model_options(config)), config_(config) {}

  const DistilBertConfig& config() const { return config_; }

 private:
  DistilBertConfig config_;
};

}  // namespace tape::models
