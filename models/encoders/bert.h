#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Options of a BERT encoder; the defaults are BERT base of Devlin et al. 2019.
struct BertConfig {
  int64_t vocab = 30522;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< number of positions
  int64_t segments = 2;      ///< number of token types
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double norm_eps = 1e-12;
  int64_t padding_id = 0;  ///< masked if no mask is given; its embedding is not trained
  bool pooler = true;      ///< the sentence vector's dense layer, see EncoderModel::pool()
  double init_std = 0.02;  ///< standard deviation of the initial weights
};

/// Architecture of a Bert: embeddings of tokens, positions and segments, and a stack of post-norm layers. Throws Error
/// (config) naming the invalid value.
EncoderModelOptions model_options(const BertConfig& config);

/// The encoder of Devlin et al. 2019: token ids [B, T] to hidden states [B, T, C].
class Bert : public EncoderModel {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Bert(const BertConfig& config) : EncoderModel(model_options(config)), config_(config) {}

  const BertConfig& config() const { return config_; }

 private:
  BertConfig config_;
};

namespace detail {
/// Small options for the registered checks of Bert and of models that use it.
BertConfig small_bert();
}  // namespace detail

}  // namespace tape::models
