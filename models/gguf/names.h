#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../decoders/gpt.h"
#include "../decoders/llama.h"
#include "gguf.h"

namespace tape::models {

/// Reads the metadata of a GGUF file strictly. Throws Error (format) naming the file, the key and the expected form.
class GgufEntries {
 public:
  GgufEntries(const std::map<std::string, GgufValue>& entries, std::string where);

  bool has(const std::string& key) const { return entries_.contains(key); }
  /// From 0 to 2^31 - 1, of any integer type. Without `otherwise` the key is required; the same holds below.
  int64_t whole(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  /// A 32-bit float converted through its shortest decimal form: 1e-05, not 9.99999974e-06.
  double number(const std::string& key, std::optional<double> otherwise = {}) const;
  bool flag(const std::string& key, std::optional<bool> otherwise = {}) const;
  std::string text(const std::string& key, std::optional<std::string> otherwise = {}) const;
  /// T: std::string, float, int32_t or uint32_t.
  template <class T>
  const std::vector<T>& list(const std::string& key) const;

  /// Numeric value of a key (true is 1, false 0), without marking it as read; nullopt for other values.
  std::optional<double> peek(const std::string& key) const;
  /// Marks the key, if present, as having no effect.
  void pass(const std::string& key) const { asked_.insert(key); }
  /// Throws Error (config) for unread keys with this prefix, which may change the computation.
  void refuse_others(const std::string& prefix) const;
  const std::string& where() const { return where_; }

 private:
  /// Null if the key is missing and optional.
  const GgufValue* find(const std::string& key, bool optional) const;
  template <class T>
  T typed(const std::string& key, const std::optional<T>& otherwise, const char* needed) const;
  [[noreturn]] void wrong(const std::string& key, const char* needed) const;

  const std::map<std::string, GgufValue>& entries_;
  std::string where_;
  mutable std::set<std::string> asked_;
};

}  // namespace tape::models

// GGUF's names of sizes and tensors, and other parts of its metadata.
namespace tape::models::gguf {

/// Keys of GPT-2's sizes, after "gpt2.".
template <class Config, class Visit>
void visit_gpt2_keys(Config& c, Visit&& visit) {
  visit("context_length", c.max_length);
  visit("embedding_length", c.d_model);
  visit("block_count", c.layers);
  visit("feed_forward_length", c.d_ff);
  visit("attention.head_count", c.heads);
  visit("attention.layer_norm_epsilon", c.norm_eps);
}

/// Keys of the sizes of a Llama or similar model, after "llama.", "qwen2." and so on.
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
/// Keys that all have the width of a head as value.
inline constexpr std::array kHeadWidths{"attention.key_length", "attention.value_length", "rope.dimension_count"};

/// GGUF's and our name of a layer's module; GPT-2's query, key and value are packed in attn_qkv.
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
      : theirs("blk." + std::to_string(layer) + "."), ours("encoder.layers." + std::to_string(layer) + ".") {}
  std::string theirs, ours;
};

/// The tokens that end a text, as llama.cpp collects them: eos, eot and eom of the metadata, then tokens that it
/// recognizes by their text ("<|eot_id|>", "<|im_end|>", "</s>", ...), in the order of their ids. Throws Error (format)
/// for an id outside the vocabulary.
std::vector<int64_t> read_end_tokens(const GgufEntries& entries);

/// Adds a model's end tokens to the metadata of its tokenizer as eos, eot and eom; keeps eos if it is one of them or is
/// added to every text. Throws Error (config) for more end tokens than llama.cpp would recognize.
void write_end_tokens(GgufMetadata& metadata, const std::vector<int64_t>& ends);

/// The divisors of Llama 3's frequencies, [D/2], as which GGUF stores its scaling.
Tensor divisors_of(const LlamaConfig& config);

/// The rotary scaling: linear and YaRN by name, Llama 3's from its `divisors`, which are undefined if the file has
/// none. Throws Error (config) naming file and key for another scaling.
nn::RotaryScaling read_scaling(const GgufEntries& entries, const std::string& prefix, const LlamaConfig& config,
                               const Tensor& divisors);

/// Passes keys with an architecture's prefix ("llama.") whose values have no effect: no experts, no soft caps, scales
/// of 1, windows as long as the context, and keys that llama.cpp does not read for these architectures.
void ignore_neutral_keys(const GgufEntries& entries, const std::string& prefix, int64_t context, int64_t head_width);

}  // namespace tape::models::gguf
