#pragma once

#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "../../nn/attention/disentangled_attention.h"
#include "../../nn/attention/relative_bias.h"
#include "../../nn/convolution.h"
#include "../../nn/embedding/embeddings.h"
#include "../../nn/position/positional_encoding.h"
#include "../../nn/transformer/decoder.h"
#include "../../nn/transformer/heads.h"
#include "graph.h"

// The operators that a layer's forward() computes in evaluation mode. A model made of these layers needs a function of
// only a few lines (models.h).
namespace tape::models::onnx {

/// Fallback for a layer without a function here: throws Error (config) naming its path and its class.
template <std::derived_from<nn::Module> M, class... A>
Value forward(Graph& g, const M& layer, const A&...) {
  const GraphScope inside(g, layer);
  return g.refuse(layer.type_name() + " cannot be exported");
}

/// Throws Error (config) if adapters are not merged.
Value forward(Graph& g, const nn::Linear& layer, const Value& x);
Value forward(Graph& g, const nn::Embedding& layer, const Value& ids);
Value forward(Graph& g, const nn::LayerNorm& layer, const Value& x);
Value forward(Graph& g, const nn::RMSNorm& layer, const Value& x);
Value forward(Graph& g, const nn::Identity& layer, const Value& x);
Value forward(Graph& g, const nn::Activation& layer, const Value& x);
Value forward(Graph& g, const nn::FeedForward& layer, const Value& x);
Value forward(Graph& g, const nn::GatedFeedForward& layer, const Value& x);
/// `positions` [T] or [B, T] for a layer with a position table that does not count its own positions; `segments` for
/// one with a segment table.
Value forward(Graph& g, const nn::Embeddings& layer, const Value& ids, const Value& positions, const Value& segments);
Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions);
/// nn::PositionalEncoding::at() with positions [T] that skip padding.
Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions, const Value& ids,
              int64_t padding_id);
Value forward(Graph& g, const nn::LearnedPositionalEncoding& layer, const Value& x, const Value& positions);

Value forward(Graph& g, const nn::Pooler& layer, const Value& hidden);
Value forward(Graph& g, const nn::ClassificationHead& layer, const Value& x);
Value forward(Graph& g, const nn::MaskedTokenHead& layer, const Value& hidden);
Value forward(Graph& g, const nn::NextTokenHead& layer, const Value& hidden);

Value forward(Graph& g, const nn::Conv2d& layer, const Value& x);

/// Dispatches on the class of a layer that may be of several.
template <class... M>
Value forward(Graph& g, const nn::Choice<M...>& choice, const Value& x) {
  return choice.visit([&](const auto& layer) { return forward(g, layer, x); });
}
template <class M, class... A>
Value forward(Graph& g, const nn::Child<M>& child, const A&... arguments) {
  return forward(g, *child, arguments...);
}

/// nn::mean_pool() with the attention_mask [B, T] (i64): hidden [B, T, C] -> [B, C].
Value mean_pool(Graph& g, const Value& hidden, const Value& attention_mask);

/// lo, lo + 1, ... hi - 1 as i64; both are scalars.
Value places(Graph& g, const Value& lo, const Value& hi);
/// Query position minus key position, [T, S], from the positions [T] and [S].
Value distances(Graph& g, const Value& queries, const Value& keys);

/// Values shared by the attention layers of a stack: masks, rotary angles and relative positions. Each is computed once
/// even if several layers use it.
class AttentionContext {
 public:
  /// A mask as layers use it.
  struct MaskValues {
    Value added;  ///< added to the scores, broadcast to [B, H, T, S]: 0 for a visible key, else the lowest f32
    /// Factor of the context, broadcast to [B, H, T, D]: 0 for a query that sees nothing; undefined if such a query
    /// attends to all keys uniformly.
    Value any;
  };
  struct RotaryAngles {
    Value cosine, sine;  ///< [T, R/2] or [B, 1, T, R/2]
  };
  /// Index [T, S] of the product of a query-key pair with its distance's row, among the 2k consecutive products of each
  /// query or each key.
  struct GatheredPositions {
    Value of_queries, of_keys;
  };

  /// All keys are visible except those where attention_mask [B, S] (i64) is 0.
  explicit AttentionContext(Value attention_mask) : attention_mask_(std::move(attention_mask)) {}
  /// Also takes distances() [T, S], which causal layers and windows need, and the rotary positions, [T] or, if each
  /// text has its own, [B, T].
  AttentionContext(Value attention_mask, Value distance, Value positions, bool each_text)
      : attention_mask_(std::move(attention_mask)),
        distance_(std::move(distance)),
        positions_(std::move(positions)),
        each_text_(each_text) {}

  /// Hides the keys after each query.
  AttentionContext& causal() {
    causal_ = true;
    return *this;
  }
  /// Adds the scores [H, T, S] of a relative bias.
  void add_bias(Graph& g, const nn::RelativeBias& bias);
  /// Like nn::uniform_if_all_hidden().
  void uniform_if_all_hidden() { evenly_ = true; }
  /// Sets the position rows [1, 2k, C] of disentangled attention.
  void add_rows(Value rows) { rows_ = std::move(rows); }
  const Value& rows() const { return rows_; }

  const MaskValues& shown(Graph& g, const std::optional<nn::AttentionWindow>& window);
  const RotaryAngles& turn(Graph& g, const nn::Rotary& rotary);
  const GatheredPositions& picked(Graph& g, const nn::DisentangledAttention& layer);

 private:
  Value attention_mask_, distance_, positions_, scores_, rows_;
  bool each_text_ = false, causal_ = false, evenly_ = false;
  std::vector<std::pair<std::optional<nn::AttentionWindow>, MaskValues>> shown_;
  std::vector<std::pair<nn::RotaryFrequencies, RotaryAngles>> turns_;
  std::vector<std::pair<std::vector<int64_t>, GatheredPositions>> picked_;  // by the rows of all distances
};

/// Keys after RoPE, and values of a layer, [B, kv_heads, S, D] each; undefined if there are none.
struct KeyValues {
  Value key, value;
};

/// Self-attention. `cache` contains the keys and values of earlier positions, if any; those of x are appended.
Value forward(Graph& g, const nn::MultiHeadAttention& layer, const Value& x, AttentionContext& attention_context,
              KeyValues* cache = nullptr);
/// Self-attention with the position rows set in `attention_context`.
Value forward(Graph& g, const nn::DisentangledAttention& layer, const Value& x, AttentionContext& attention_context);
/// Keys and values of a memory [B, S, C]. Throws Error (config) for a layer with rotary positions or a window.
KeyValues read_memory(Graph& g, const nn::MultiHeadAttention& layer, const Value& memory);
/// Cross-attention, given the memory's keys and values.
Value attend_to(Graph& g, const nn::MultiHeadAttention& layer, const Value& x, const KeyValues& memory,
                AttentionContext& attention_context);

/// `cache` contains the keys and values of earlier positions; those of x are appended.
Value forward(Graph& g, const nn::EncoderLayer& layer, const Value& x, AttentionContext& attention_context,
              KeyValues* cache = nullptr);
/// `caches` has one entry per layer, or none.
Value forward(Graph& g, const nn::Encoder& stack, const Value& x, AttentionContext& attention_context,
              std::vector<KeyValues>* caches = nullptr);

/// Keys and values that a decoder layer passes to the next step.
struct DecoderKeyValues {
  KeyValues self;    ///< of earlier positions; those of x are appended
  KeyValues memory;  ///< of the memory; used if defined, otherwise computed and stored here
};

/// `attention_context` is for the positions of x, `memory_context` for those of the memory.
Value forward(Graph& g, const nn::DecoderLayer& layer, const Value& x, const Value& memory,
              AttentionContext& attention_context, AttentionContext& memory_context, DecoderKeyValues& cache);
/// `caches` has one entry per layer.
Value forward(Graph& g, const nn::Decoder& stack, const Value& x, const Value& memory,
              AttentionContext& attention_context, AttentionContext& memory_context,
              std::vector<DecoderKeyValues>& caches);

}  // namespace tape::models::onnx
