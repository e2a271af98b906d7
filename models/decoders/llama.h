#pragma once

#include "causal_lm.h"

namespace tape::models {

/// Whose folders a Llama is kept in, and what its attention has besides: a Mistral a sliding window, a Qwen2 biases of
/// query, key and value, a Qwen3 norms of each head's query and key. SmolLM2 is of kind llama.
enum class LlamaKind { llama, mistral, qwen2, qwen3 };

/// "llama", as transformers' "model_type" writes it
std::string_view to_string(LlamaKind kind);

/// Sizes and choices of a Llama; the defaults are Llama 7B's of Touvron et al. 2023 and, where the kinds differ,
/// transformers'; the readers in llama.cpp have the others'.
struct LlamaConfig {
  LlamaKind kind = LlamaKind::llama;
  int64_t vocab = 32000;
  int64_t d_model = 4096;
  int64_t layers = 32;
  int64_t heads = 32;
  std::optional<int64_t> kv_heads = {};    ///< of keys and values, which groups of heads share; heads where not given
  std::optional<int64_t> head_width = {};  ///< D; d_model / heads where not given
  int64_t d_ff = 11008;
  int64_t max_length = 2048;                                 ///< of the texts it was trained on; it reads longer ones
  nn::ActivationKind activation = nn::ActivationKind::silu;  ///< of the gate
  double norm_eps = 1e-6;
  nn::RotaryOptions rotary = {};
  bool attention_bias = false;  ///< of all four projections: of kinds llama and qwen3
  bool mlp_bias = false;        ///< of the three products of the feed-forward block: of kind llama
  /// Keys that a position sees, its own among them: of kind mistral, qwen2 and qwen3.
  std::optional<int64_t> window = {};
  std::vector<bool> window_layers = {};    ///< which layers have it, of kinds qwen2 and qwen3; all where empty
  double attention_dropout = 0;            ///< of attention weights; there is no other
  bool tie_output = false;                 ///< the output's matrix is the token table
  std::optional<int64_t> padding_id = {};  ///< a row of the token table that is never trained
  std::optional<int64_t> bos_id = {};      ///< the token that begins a text, if there is one
  std::vector<int64_t> eos_ids = {};       ///< the tokens that end it
  double init_std = 0.02;                  ///< deviation of the first weights
};

/// The configuration with everything that it leaves open. Error (config) naming the value that does not fit, or that
/// its kind has not.
LlamaConfig completed(LlamaConfig config);

/// Whether the projections of query, key and value have biases.
bool has_input_biases(const LlamaConfig& config);
/// Whether a layer looks through the window.
bool has_window(const LlamaConfig& config, int64_t layer);

/// A token table and a stack of layers with RMSNorm in front, rotary positions, grouped queries and SwiGLU (Touvron et
/// al. 2023, "LLaMA", 2.2; "Llama 2", 2.2; Grattafiori et al. 2024, 3.2), and with it Mistral (Jiang et al. 2023, 2),
/// Qwen2 (Yang et al. 2024, 2.2) and Qwen3 (Yang et al. 2025, 2).
class Llama : public CausalLM {
 public:
  /// Errors as completed().
  explicit Llama(const LlamaConfig& config);

  const LlamaConfig& config() const { return config_; }

 private:
  LlamaConfig config_;
};

}  // namespace tape::models
