#pragma once

#include "causal_lm.h"

namespace tape::models {

/// Sizes and choices of a GptNeoX; the defaults are GPT-NeoX-20B's, as transformers has them.
struct GptNeoXConfig {
  int64_t vocab = 50432;
  int64_t d_model = 6144;
  int64_t layers = 44;
  int64_t heads = 64;
  int64_t d_ff = 24576;
  int64_t max_length = 2048;  ///< of the texts it was trained on; it reads longer ones
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  nn::RotaryOptions rotary = {.fraction = 0.25};
  bool parallel = true;          ///< x + attention(norm1(x)) + feed_forward(norm2(x)), not one behind the other
  bool attention_bias = true;    ///< of all four projections
  double dropout = 0;            ///< of sublayer outputs and the embeddings
  double attention_dropout = 0;  ///< of attention weights
  double norm_eps = 1e-5;
  bool tie_output = false;             ///< the output's matrix is the token table
  std::optional<int64_t> bos_id = {};  ///< the token that begins a text, if there is one
  std::vector<int64_t> eos_ids = {};   ///< the tokens that end it
  double init_std = 0.02;              ///< deviation of the first weights
};

/// Error (config) naming the value that does not fit.
void check(const GptNeoXConfig& config);

/// A token table and a stack of layers with LayerNorm in front, rotary positions in a part of each head's columns, and
/// attention beside the feed-forward block (Black et al. 2022, "GPT-NeoX-20B", 2.1); Pythia is one too (Biderman et al.
/// 2023, 2.2).
class GptNeoX : public CausalLM {
 public:
  /// Errors as check().
  explicit GptNeoX(const GptNeoXConfig& config);

  const GptNeoXConfig& config() const { return config_; }

 private:
  GptNeoXConfig config_;
};

}  // namespace tape::models
