#pragma once

#include "encoder_model.h"

namespace tape::models {

/// Options of a ModernBERT; the defaults are the base model of Warner et al. 2024.
struct ModernBertConfig {
  int64_t vocab = 50368;
  int64_t d_model = 768;
  int64_t layers = 22;
  int64_t heads = 12;
  int64_t d_ff = 1152;
  int64_t max_length = 8192;  ///< number of tokens in training; not a hard limit, as there is no position table
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  /// Layers that see only `local_attention` tokens around each position; empty: all except every third from the first.
  std::vector<bool> local_layers = {};
  int64_t local_attention = 128;
  double global_theta = 160000;  ///< rotary base of global layers
  double local_theta = 10000;    ///< rotary base of local layers
  double dropout = 0;            ///< inside feed-forward blocks, and of the embeddings unless set below
  std::optional<double> embedding_dropout = {};
  double attention_dropout = 0;   ///< of attention weights and outputs
  double classifier_dropout = 0;  ///< before each head's last layer
  double norm_eps = 1e-5;
  bool norm_bias = false;
  std::optional<bool> attention_bias = {};  ///< default: no bias; also of the next two
  std::optional<bool> mlp_bias = {};
  std::optional<bool> classifier_bias = {};  ///< of the heads' dense layer
  bool decoder_bias = true;                  ///< of the masked token head's last layer
  nn::ActivationKind classifier_activation = nn::ActivationKind::gelu;
  int64_t padding_id = 50283;  ///< masked if no mask is given; its embedding is not trained
  double init_std = 0.02;      ///< standard deviation of the initial weights

  /// Whether layer i is local.
  bool is_local(int64_t layer) const;
};

/// Architecture of a ModernBert: normalized token embeddings and pre-norm layers with gated blocks and rotary
/// positions. A few layers are global and the others local; the first has no norm before attention (2.1). Throws Error
/// (config) naming the invalid value.
EncoderModelOptions model_options(const ModernBertConfig& config);

/// The encoder of Warner et al. 2024: token ids [B, T] to hidden states [B, T, C].
class ModernBert : public EncoderModel {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit ModernBert(const ModernBertConfig& config) : EncoderModel(model_options(config)), config_(config) {}

  const ModernBertConfig& config() const { return config_; }

 private:
  ModernBertConfig config_;
};

}  // namespace tape::models
