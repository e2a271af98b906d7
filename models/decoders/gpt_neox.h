#pragma once

#include "causal_lm.h"

namespace tape::models {

/// Options of a GptNeoX; the defaults are transformers' for GPT-NeoX-20B.
struct GptNeoXConfig {
  int64_t vocab = 50432;
  int64_t d_model = 6144;
  int64_t layers = 44;
  int64_t heads = 64;
  int64_t d_ff = 24576;
  int64_t max_length = 2048;  ///< of the training texts; the model accepts longer ones
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  nn::RotaryOptions rotary = {.fraction = 0.25};
  bool parallel = true;          ///< x + attention(norm1(x)) + feed_forward(norm2(x)) instead of one after the other
  bool attention_bias = true;    ///< of all four projections
  double dropout = 0;            ///< of sublayer outputs and the embeddings
  double attention_dropout = 0;  ///< of attention weights
  double norm_eps = 1e-5;
  bool tie_output = false;                 ///< whether the output matrix is the token table
  std::optional<int64_t> bos_id = {};      ///< beginning-of-text token, if any
  std::vector<int64_t> eos_ids = {};       ///< end-of-text tokens
  std::optional<int64_t> padding_id = {};  ///< pad_token_id of the model's folder; changes nothing here
  double init_std = 0.02;                  ///< standard deviation of the initial weights
};

/// Throws Error (config) naming the invalid value.
void check(const GptNeoXConfig& config);

/// A token table and a stack of pre-LN layers with rotary positions in part of each head's columns and attention in
/// parallel with the feed-forward block (Black et al. 2022, "GPT-NeoX-20B", 2.1); Pythia is one too (Biderman et al.
/// 2023, 2.2).
class GptNeoX : public CausalLM {
 public:
  /// Throws the errors of check().
  explicit GptNeoX(const GptNeoXConfig& config);

  const GptNeoXConfig& config() const { return config_; }

 private:
  GptNeoXConfig config_;
};

}  // namespace tape::models
