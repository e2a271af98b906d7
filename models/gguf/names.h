#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../decoders/gpt.h"
#include "../decoders/llama.h"
#include "gguf.h"

namespace tape::models {

/// Reads the metadata of a GGUF file strictly. Errors are Error (format) naming the file, the key and what is needed.
class GgufEntries {
 public:
  GgufEntries(const std::map<std::string, GgufValue>& entries, std::string where);

  bool has(const std::string& key) const { return entries_.contains(key); }
  /// From 0 to 2^31 - 1, of any type of whole numbers. Without `otherwise` the key must be there; so below.
  int64_t whole(const std::string& key, std::optional<int64_t> otherwise = {}) const;
  /// A number of 32 bits as its shortest decimal text has it: 1e-05, not 9.99999974e-06.
  double number(const std::string& key, std::optional<double> otherwise = {}) const;
  bool flag(const std::string& key, std::optional<bool> otherwise = {}) const;
  std::string text(const std::string& key, std::optional<std::string> otherwise = {}) const;
  /// T: std::string, float, int32_t or uint32_t.
  template <class T>
  const std::vector<T>& list(const std::string& key) const;

  /// The number of a key, true being 1 and false 0, which this does not count as asked for; none for other values.
  std::optional<double> peek(const std::string& key) const;
  /// Says that the key, if it is there, changes nothing.
  void pass(const std::string& key) const { asked_.insert(key); }
  /// Error (config) for keys that begin so and were not asked for: they may change what is computed.
  void refuse_others(const std::string& prefix) const;
  const std::string& where() const { return where_; }

 private:
  /// Null where the key is missing and may be.
  const GgufValue* find(const std::string& key, bool optional) const;
  template <class T>
  T typed(const std::string& key, const std::optional<T>& otherwise, const char* needed) const;
  [[noreturn]] void wrong(const std::string& key, const char* needed) const;

  const std::map<std::string, GgufValue>& entries_;
  std::string where_;
  mutable std::set<std::string> asked_;
};

}  // namespace tape::models

// What GGUF calls sizes and tensors, and what else of its metadata is read and written.
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

/// The tokens that end a text, as llama.cpp collects them: eos, eot and eom of the metadata, then tokens that it knows
/// by their text ("<|eot_id|>", "<|im_end|>", "</s>", ...), in the order of their ids. Error (format) for an id outside
/// the vocabulary.
std::vector<int64_t> read_ends(const GgufEntries& entries);

/// Adds a model's ends to the metadata of its tokenizer as eos, eot and eom; eos stays where it is one of them, or is
/// added to every text. Error (config) for more ends than llama.cpp would find again.
void write_ends(GgufMetadata& metadata, const std::vector<int64_t>& ends);

/// What Llama 3's frequencies are divided by, [D/2]: what GGUF keeps of its scaling.
Tensor divisors_of(const LlamaConfig& config);

/// The scaling of the rotation: linear and YaRN by name, Llama 3's by its `divisors`, undefined where the file has
/// none. Error (config) naming file and key for another one.
nn::RotaryScaling read_scaling(const GgufEntries& entries, const std::string& prefix, const LlamaConfig& config,
                               const Tensor& divisors);

/// Passes keys behind an architecture's name ("llama.") whose values change nothing that is computed: no experts, no
/// soft caps, scales of 1, windows as long as the context, and what llama.cpp does not read of these architectures.
void pass_neutral(const GgufEntries& entries, const std::string& prefix, int64_t context, int64_t head_width);

}  // namespace tape::models::gguf
