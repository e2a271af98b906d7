#pragma once

#include "causal_lm.h"

namespace tape::models {

/// Architecture, and so the folder format, of a Llama. Mistral adds a sliding window, Qwen2 biases of query, key and
/// value, Qwen3 norms of each head's query and key. SmolLM2 is of kind llama.
enum class LlamaKind { llama, mistral, qwen2, qwen3 };

/// transformers' "model_type": "llama"
std::string_view to_string(LlamaKind kind);

/// Options of a Llama. The defaults are Llama 7B's of Touvron et al. 2023 and, where the kinds differ, transformers'
/// for llama; llama.cpp has the defaults of the other kinds.
struct LlamaConfig {
  LlamaKind kind = LlamaKind::llama;
  int64_t vocab = 32000;
  int64_t d_model = 4096;
  int64_t layers = 32;
  int64_t heads = 32;
  std::optional<int64_t> kv_heads = {};    ///< key and value heads, shared by groups of query heads; default: heads
  std::optional<int64_t> head_width = {};  ///< D; default: d_model / heads
  int64_t d_ff = 11008;
  int64_t max_length = 2048;                                 ///< of the training texts; the model accepts longer ones
  nn::ActivationKind activation = nn::ActivationKind::silu;  ///< of the gate
  double norm_eps = 1e-6;
  nn::RotaryOptions rotary = {};
  bool attention_bias = false;  ///< of all four projections; kinds llama and qwen3
  bool mlp_bias = false;        ///< of the three feed-forward projections; kind llama
  /// Number of keys that a position sees, including its own; kinds mistral, qwen2 and qwen3.
  std::optional<int64_t> window = {};
  std::vector<bool> window_layers = {};    ///< layers with the window, for kinds qwen2 and qwen3; empty: all
  double attention_dropout = 0;            ///< of attention weights; the model has no other dropout
  bool tie_output = false;                 ///< whether the output matrix is the token table
  std::optional<int64_t> padding_id = {};  ///< row of the token table that is never trained
  std::optional<int64_t> bos_id = {};      ///< beginning-of-text token, if any
  std::vector<int64_t> eos_ids = {};       ///< end-of-text tokens
  double init_std = 0.02;                  ///< standard deviation of the initial weights
};

/// The configuration with all defaults filled in. Throws Error (config) naming a value that is invalid or that its kind
/// does not have.
LlamaConfig completed(LlamaConfig config);

/// Whether the projections of query, key and value have biases.
bool has_input_biases(const LlamaConfig& config);
/// Whether the layer has a sliding window.
bool has_window(const LlamaConfig& config, int64_t layer);

/// A token table and a stack of pre-norm layers with RMSNorm, rotary positions, grouped-query attention and SwiGLU
/// (Touvron et al. 2023, "LLaMA", 2.2; "Llama 2", 2.2; Grattafiori et al. 2024, 3.2). Also Mistral (Jiang et al. 2023,
/// 2), Qwen2 (Yang et al. 2024, 2.2) and Qwen3 (Yang et al. 2025, 2).
class Llama : public CausalLM {
 public:
  /// Throws the errors of completed().
  explicit Llama(const LlamaConfig& config);

  const LlamaConfig& config() const { return config_; }

 private:
  LlamaConfig config_;
};

}  // namespace tape::models
