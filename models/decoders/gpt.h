#pragma once

#include "causal_lm.h"

namespace tape::models {

/// Options of a Gpt; the defaults are GPT-2 small of Radford et al. 2019.
struct GptConfig {
  int64_t vocab = 50257;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 0;           ///< 0: 4 d_model
  int64_t max_length = 1024;  ///< number of positions
  nn::ActivationKind activation = nn::ActivationKind::gelu_tanh;
  double dropout = 0.1;            ///< of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double embedding_dropout = 0.1;
  double norm_eps = 1e-5;
  bool tie_output = true;  ///< whether the output matrix is the token table
  nn::TokenOutput output = nn::TokenOutput::logits;
  std::optional<int64_t> bos_id = {};      ///< beginning-of-text token, if any
  std::vector<int64_t> eos_ids = {};       ///< end-of-text tokens
  std::optional<int64_t> padding_id = {};  ///< pad_token_id of the model's folder; changes nothing here
  double init_std = 0.02;  ///< standard deviation of the initial weights; smaller for projections into the residual
};

/// Token and position tables and a stack of causal pre-LN layers (Radford et al. 2019).
class Gpt : public CausalLM {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Gpt(const GptConfig& config);

  const GptConfig& config() const { return config_; }

 private:
  GptConfig config_;
};

}  // namespace tape::models
