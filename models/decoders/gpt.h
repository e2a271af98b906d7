#pragma once

#include "causal_lm.h"

namespace tape::models {

/// Sizes and choices of a decoder-only model; the defaults are GPT-2 small of Radford et al. 2019.
struct GptConfig {
  int64_t vocab = 50257;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 0;           ///< 4 d_model where it is 0
  int64_t max_length = 1024;  ///< positions
  nn::ActivationKind activation = nn::ActivationKind::gelu_tanh;
  double dropout = 0.1;            ///< of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double embedding_dropout = 0.1;
  double norm_eps = 1e-5;
  bool tie_output = true;  ///< the output's matrix is the token table
  nn::TokenOutput output = nn::TokenOutput::logits;
  std::optional<int64_t> bos_id = {};  ///< the token that begins a text, if there is one
  std::vector<int64_t> eos_ids = {};   ///< the tokens that end it
  double init_std = 0.02;              ///< deviation of the first weights; projections into the residual sum get less
};

/// Token and position tables and a stack of pre-LN layers that see the past alone (Radford et al. 2019).
class Gpt : public CausalLM {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Gpt(const GptConfig& config);

  const GptConfig& config() const { return config_; }

 private:
  GptConfig config_;
};

}  // namespace tape::models
