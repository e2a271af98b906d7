#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Sizes and choices of an encoder-only model; the defaults are BERT base of Devlin et al. 2019.
struct BertConfig {
  int64_t vocab = 30522;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< positions
  int64_t segments = 2;      ///< kinds of text a position can belong to
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double norm_eps = 1e-12;
  int64_t padding_id = 0;  ///< hidden where no mask is given; its row is not trained
  bool pooler = true;      ///< the sentence vector's dense layer, see EncoderModel::pool()
  double init_std = 0.02;  ///< deviation of the first weights
};

/// What a Bert is made of: embeddings of tokens, positions and segments, and a stack of post-LN layers. Error (config)
/// naming the value that does not fit.
EncoderModelOptions parts_of(const BertConfig& config);

/// The encoder of Devlin et al. 2019: token ids [B, T] to a vector a position [B, T, C].
class Bert : public EncoderModel {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Bert(const BertConfig& config) : EncoderModel(parts_of(config)), config_(config) {}

  const BertConfig& config() const { return config_; }

 private:
  BertConfig config_;
};

namespace detail {
/// What the registered checks of Bert and of what is built on it are made of.
BertConfig small_bert();
}  // namespace detail

}  // namespace tape::models
