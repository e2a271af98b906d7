#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Options of an MPNet; the defaults are the base model of Song et al. 2020.
struct MPNetConfig {
  int64_t vocab = 30527;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< tokens; the position table has max_length + padding_id + 1 rows
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double norm_eps = 1e-5;
  int64_t padding_id = 1;  ///< masked if no mask is given; its embedding and its position are not trained
  bool pooler = true;      ///< the sentence vector's dense layer, see EncoderModel::pool()
  double init_std = 0.02;  ///< standard deviation of the initial weights
};

/// Architecture of an MPNet: RoBERTa without segments, plus a trained bias of 32 buckets for distances up to 128, which
/// all layers add to their scores. Throws Error (config) naming the invalid value.
EncoderModelOptions model_options(const MPNetConfig& config);

/// The encoder of Song et al. 2020: token ids [B, T] to hidden states [B, T, C].
class MPNet : public EncoderModel {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit MPNet(const MPNetConfig& config) : EncoderModel(model_options(config)), config_(config) {}

  const MPNetConfig& config() const { return config_; }

 private:
  MPNetConfig config_;
};

}  // namespace tape::models
