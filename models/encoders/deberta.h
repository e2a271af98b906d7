#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Sizes and choices of a DeBERTa v2 or v3; the defaults are DeBERTa v3 base of He et al. 2021, "DeBERTaV3".
struct DebertaConfig {
  int64_t vocab = 128100;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;     ///< tokens, and the table of positions where there is one
  bool position_table = false;  ///< absolute positions beside the relative ones
  int64_t segments = 0;
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings, of the rows of positions and of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  int64_t max_relative_positions = 512;
  int64_t position_buckets = 256;  ///< of each direction; 0: a row a distance
  nn::PositionTerms terms = nn::PositionTerms::both;
  bool share_projections = true;                                    ///< positions go through the contents' projections
  double norm_eps = 1e-7;                                           ///< also of the next
  bool norm_positions = true;                                       ///< a LayerNorm over the rows of positions
  nn::ActivationKind pooler_activation = nn::ActivationKind::gelu;  ///< of a classifier's dense layer
  double pooler_dropout = 0;                                        ///< and of what that reads
  bool legacy_head = true;  ///< the masked token head's names in folders: cls.predictions, else lm_predictions.lm_head
  int64_t padding_id = 0;   ///< hidden where no mask is given; its row is not trained
  double init_std = 0.02;   ///< deviation of the first weights
};

/// What a Deberta is made of: tokens behind a norm and post-LN layers of disentangled attention, whose positions are
/// one table of rows. Error (config) naming the value that does not fit.
EncoderModelOptions parts_of(const DebertaConfig& config);

/// The encoder of He et al. 2021, versions 2 and 3: token ids [B, T] to a vector a position [B, T, C].
class Deberta : public EncoderModel {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Deberta(const DebertaConfig& config) : EncoderModel(parts_of(config)), config_(config) {}

  const DebertaConfig& config() const { return config_; }

 private:
  DebertaConfig config_;
};

}  // namespace tape::models
