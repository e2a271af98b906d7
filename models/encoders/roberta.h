#pragma once

#include "encoder_model.h"

namespace tape::models {

/// The folder format; both kinds compute the same.
enum class RobertaKind { roberta, xlm_roberta };

/// Options of a RoBERTa; the defaults are RoBERTa base of Liu et al. 2019. XLM-R base of Conneau et al. 2020 has a
/// vocab of 250002.
struct RobertaConfig {
  RobertaKind kind = RobertaKind::roberta;
  int64_t vocab = 50265;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< tokens; the position table has max_length + padding_id + 1 rows
  int64_t segments = 1;
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double norm_eps = 1e-5;
  int64_t padding_id = 1;  ///< masked if no mask is given; its embedding and its position are not trained
  bool pooler = true;      ///< the sentence vector's dense layer, see EncoderModel::pool()
  double init_std = 0.02;  ///< standard deviation of the initial weights
};

/// Architecture of a Roberta: BERT's parts, but positions start at padding_id + 1 and skip padding, and heads have
/// their own dense layer. Throws Error (config) naming the invalid value.
EncoderModelOptions model_options(const RobertaConfig& config);

/// The encoder of Liu et al. 2019: token ids [B, T] to hidden states [B, T, C].
class Roberta : public EncoderModel {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Roberta(const RobertaConfig& config) : EncoderModel(model_options(config)), config_(config) {}

  const RobertaConfig& config() const { return config_; }

 private:
  RobertaConfig config_;
};

}  // namespace tape::models
