#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Sizes and choices of a ModernBERT; the defaults are the base model of Warner et al. 2024.
struct ModernBertConfig {
  int64_t vocab = 50368;
  int64_t d_model = 768;
  int64_t layers = 22;
  int64_t heads = 12;
  int64_t d_ff = 1152;
  int64_t max_length = 8192;  ///< tokens it was trained on; no table of positions ends there
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  /// Which layers see `local_attention` tokens around each alone; empty: all but every third, the first one among them.
  std::vector<bool> local_layers = {};
  int64_t local_attention = 128;
  double global_theta = 160000;  ///< the rotation's base in layers that see all
  double local_theta = 10000;    ///< and in those that do not
  double dropout = 0;            ///< inside feed-forward blocks, and of the embeddings where the next is not given
  std::optional<double> embedding_dropout = {};
  double attention_dropout = 0;   ///< of attention weights and outputs
  double classifier_dropout = 0;  ///< in front of each head's last layer
  double norm_eps = 1e-5;
  bool norm_bias = false;
  std::optional<bool> attention_bias = {};  ///< none where not given, as of the next two
  std::optional<bool> mlp_bias = {};
  std::optional<bool> classifier_bias = {};  ///< of the heads' dense layer
  bool decoder_bias = true;                  ///< of the masked token head's last layer
  nn::ActivationKind classifier_activation = nn::ActivationKind::gelu;
  int64_t padding_id = 50283;  ///< hidden where no mask is given; its row is not trained
  double init_std = 0.02;      ///< deviation of the first weights

  /// Whether layer i sees only what is around.
  bool is_local(int64_t layer) const;
};

/// What a ModernBert is made of: tokens behind a norm, layers with norms in front, gated blocks and rotary positions, a
/// few of which see the whole text and the others what is around; the first reads its input as it is (2.1). Error
/// (config) naming the value that does not fit.
EncoderModelOptions parts_of(const ModernBertConfig& config);

/// The encoder of Warner et al. 2024: token ids [B, T] to a vector a position [B, T, C].
class ModernBert : public EncoderModel {
 public:
  /// Error (config) naming the value that does not fit.
  explicit ModernBert(const ModernBertConfig& config) : EncoderModel(parts_of(config)), config_(config) {}

  const ModernBertConfig& config() const { return config_; }

 private:
  ModernBertConfig config_;
};

}  // namespace tape::models
