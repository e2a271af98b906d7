#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Options of a DeBERTa v2 or v3; the defaults are DeBERTa v3 base of He et al. 2021, "DeBERTaV3".
struct DebertaConfig {
  int64_t vocab = 128100;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;     ///< tokens, and rows of the position table if there is one
  bool position_table = false;  ///< whether to add absolute positions to the relative ones
  int64_t segments = 0;
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings, the position rows and sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  int64_t max_relative_positions = 512;
  int64_t position_buckets = 256;  ///< per direction; 0: one row per distance
  nn::PositionTerms terms = nn::PositionTerms::both;
  bool share_projections = true;                                    ///< positions use the contents' projections
  double norm_eps = 1e-7;                                           ///< also of the norm below
  bool norm_positions = true;                                       ///< whether position rows pass a LayerNorm
  nn::ActivationKind pooler_activation = nn::ActivationKind::gelu;  ///< of a classifier's dense layer
  double pooler_dropout = 0;                                        ///< of that layer's input and output
  bool legacy_head = true;  ///< names of the masked token head: cls.predictions, or else lm_predictions.lm_head
  int64_t padding_id = 0;   ///< masked if no mask is given; its embedding is not trained
  double init_std = 0.02;   ///< standard deviation of the initial weights
};

/// Architecture of a Deberta: normalized token embeddings and post-norm layers of disentangled attention, which share
/// one table of position rows. Throws Error (config) naming the invalid value.
EncoderModelOptions model_options(const DebertaConfig& config);

/// The encoder of He et al. 2021, versions 2 and 3: token ids [B, T] to hidden states [B, T, C].
class Deberta : public EncoderModel {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Deberta(const DebertaConfig& config) : EncoderModel(model_options(config)), config_(config) {}

  const DebertaConfig& config() const { return config_; }

 private:
  DebertaConfig config_;
};

}  // namespace tape::models
