#pragma once

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "../decoders/gpt.h"
#include "../decoders/llama.h"

// What GGUF calls sizes and tensors: for both directions.
namespace tape::models::gguf {

/// Keys of GPT-2's sizes, behind "gpt2.".
template <class Config, class Visit>
void visit_gpt2_keys(Config& c, Visit&& visit) {
  visit("context_length", c.max_length);
  visit("embedding_length", c.d_model);
  visit("block_count", c.layers);
  visit("feed_forward_length", c.d_ff);
  visit("attention.head_count", c.heads);
  visit("attention.layer_norm_epsilon", c.norm_eps);
}

/// Keys of a Llama's sizes and its kin's, behind "llama.", "qwen2." and so on.
template <class Config, class Visit>
void visit_llama_keys(Config& c, Visit&& visit) {
  visit("vocab_size", c.vocab);
  visit("context_length", c.max_length);
  visit("embedding_length", c.d_model);
  visit("block_count", c.layers);
  visit("feed_forward_length", c.d_ff);
  visit("attention.head_count", c.heads);
  visit("attention.head_count_kv", c.kv_heads);
  visit("attention.layer_norm_rms_epsilon", c.norm_eps);
  visit("rope.freq_base", c.rotary.theta);
}
/// Keys that all hold the width of a head.
inline constexpr std::array kHeadWidths{"attention.key_length", "attention.value_length", "rope.dimension_count"};

/// A module of a layer there, and ours; GPT-2's query, key and value are one there, attn_qkv.
using Names = std::pair<const char*, const char*>;
inline constexpr std::array<Names, 5> kGpt2Layer{{{"attn_norm", "norm1"},
                                                  {"attn_output", "self_attention.output"},
                                                  {"ffn_norm", "norm2"},
                                                  {"ffn_up", "feed_forward.linear1"},
                                                  {"ffn_down", "feed_forward.linear2"}}};
inline constexpr std::array<Names, 11> kLlamaLayer{{{"attn_norm", "norm1"},
                                                    {"attn_q", "self_attention.query"},
                                                    {"attn_k", "self_attention.key"},
                                                    {"attn_v", "self_attention.value"},
                                                    {"attn_output", "self_attention.output"},
                                                    {"attn_q_norm", "self_attention.query_norm"},
                                                    {"attn_k_norm", "self_attention.key_norm"},
                                                    {"ffn_norm", "norm2"},
                                                    {"ffn_gate", "feed_forward.gate"},
                                                    {"ffn_up", "feed_forward.up"},
                                                    {"ffn_down", "feed_forward.down"}}};
inline constexpr std::array kPackedAttention{"query", "key", "value"};

/// "blk.3." and "encoder.layers.3."
struct LayerNames {
  explicit LayerNames(int64_t layer)
      : theirs(fmt::format("blk.{}.", layer)), ours(fmt::format("encoder.layers.{}.", layer)) {}
  std::string theirs, ours;
};

}  // namespace tape::models::gguf
