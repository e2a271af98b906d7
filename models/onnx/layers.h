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

// What forward() of a layer computes, in evaluation mode, as operators of a graph. A model made of these layers needs a
// function of a few lines (models.h).
namespace tape::models::onnx {

/// A layer that has no function here, and so no place in a graph: Error (config) naming its path and its class.
template <std::derived_from<nn::Module> M, class... A>
Value forward(Graph& g, const M& layer, const A&...) {
  const Inside inside(g, layer);
  return g.refuse(fmt::format("{} has no export", layer.type_name()));
}

/// Error (config) where adapters are not merged.
Value forward(Graph& g, const nn::Linear& layer, const Value& x);
Value forward(Graph& g, const nn::Embedding& layer, const Value& ids);
Value forward(Graph& g, const nn::LayerNorm& layer, const Value& x);
Value forward(Graph& g, const nn::RMSNorm& layer, const Value& x);
Value forward(Graph& g, const nn::Identity& layer, const Value& x);
Value forward(Graph& g, const nn::Activation& layer, const Value& x);
Value forward(Graph& g, const nn::FeedForward& layer, const Value& x);
Value forward(Graph& g, const nn::GatedFeedForward& layer, const Value& x);
/// `positions` [T] or [B, T] where the layer has a table of them and does not count its own, `segments` where it has
/// one of these.
Value forward(Graph& g, const nn::Embeddings& layer, const Value& ids, const Value& positions, const Value& segments);
Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions);
/// nn::PositionalEncoding::at() with positions that skip padding: those in `positions` [T] are of ids that have none.
Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions, const Value& ids,
              int64_t padding_id);
Value forward(Graph& g, const nn::LearnedPositionalEncoding& layer, const Value& x, const Value& positions);

Value forward(Graph& g, const nn::Pooler& layer, const Value& hidden);
Value forward(Graph& g, const nn::ClassificationHead& layer, const Value& x);
Value forward(Graph& g, const nn::MaskedTokenHead& layer, const Value& hidden);
Value forward(Graph& g, const nn::NextTokenHead& layer, const Value& hidden);

Value forward(Graph& g, const nn::Conv2d& layer, const Value& x);

/// The layer that a place for one of several classes holds.
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

/// Places lo, lo + 1, ... hi - 1 as i64; both are numbers without axes.
Value places(Graph& g, const Value& lo, const Value& hi);
/// How far behind each query each key stands, [T, S], from their places [T] and [S].
Value distances(Graph& g, const Value& queries, const Value& keys);

/// What the attention layers of a stack share: which keys are seen, how far queries and keys turn, and which positions
/// they have to each other. What several layers ask for is computed once.
class Surroundings {
 public:
  /// Of a mask, as layers use it.
  struct Shown {
    Value added;  ///< to the scores, broadcast to [B, H, T, S]: 0 for a key that is seen, else the lowest f32
    /// What the context is multiplied by, broadcast to [B, H, T, D]: 0 for a query that sees nothing; undefined where
    /// such a query attends to all keys evenly.
    Value any;
  };
  struct Turn {
    Value cosine, sine;  ///< [T, R/2] or [B, 1, T, R/2]
  };
  /// Where the product of a pair with the row of its distance stands, [T, S], among the 2k products that each query, or
  /// each key, has one behind the other.
  struct Picked {
    Value of_queries, of_keys;
  };

  /// All keys but those where attention_mask [B, S] (i64) is 0.
  explicit Surroundings(Value attention_mask) : attention_mask_(std::move(attention_mask)) {}
  /// With distances() [T, S], which causal layers and windows need, and the positions that rotations turn by, [T] or,
  /// where each text has its own, [B, T].
  Surroundings(Value attention_mask, Value distance, Value positions, bool each_text)
      : attention_mask_(std::move(attention_mask)),
        distance_(std::move(distance)),
        positions_(std::move(positions)),
        each_text_(each_text) {}

  /// Hides the keys behind each query.
  Surroundings& causal() {
    causal_ = true;
    return *this;
  }
  /// Adds the scores [H, T, S] of a bias by distances.
  void add_bias(Graph& g, const nn::RelativeBias& bias);
  /// As nn::uniform_if_all_hidden().
  void attend_evenly_if_all_hidden() { evenly_ = true; }
  /// Takes the rows of positions [1, 2k, C] of disentangled attention.
  void add_rows(Value rows) { rows_ = std::move(rows); }
  const Value& rows() const { return rows_; }

  const Shown& shown(Graph& g, const std::optional<nn::AttentionWindow>& window);
  const Turn& turn(Graph& g, const nn::Rotary& rotary);
  const Picked& picked(Graph& g, const nn::DisentangledAttention& layer);

 private:
  Value attention_mask_, distance_, positions_, scores_, rows_;
  bool each_text_ = false, causal_ = false, evenly_ = false;
  std::vector<std::pair<std::optional<nn::AttentionWindow>, Shown>> shown_;
  std::vector<std::pair<nn::RotaryFrequencies, Turn>> turns_;
  std::vector<std::pair<std::vector<int64_t>, Picked>> picked_;  // by the rows of all distances
};

/// Keys, turned, and values of a layer, [B, kv_heads, S, D] each; undefined where there are none.
struct KeyValues {
  Value key, value;
};

/// Self-attention. A `cache` that is given holds those of the positions in front, if any, and gets those of x behind
/// them.
Value forward(Graph& g, const nn::MultiHeadAttention& layer, const Value& x, Surroundings& around,
              KeyValues* cache = nullptr);
/// Self-attention with the rows of positions that `around` was given.
Value forward(Graph& g, const nn::DisentangledAttention& layer, const Value& x, Surroundings& around);
/// Keys and values of a memory [B, S, C], which is neither turned nor seen through a window: Error (config) for a layer
/// that does.
KeyValues read_memory(Graph& g, const nn::MultiHeadAttention& layer, const Value& memory);
/// Attention to a memory by its keys and values.
Value attend_to(Graph& g, const nn::MultiHeadAttention& layer, const Value& x, const KeyValues& memory,
                Surroundings& around);

/// A `cache` that is given holds keys and values of the positions in front, and gets those of x behind them.
Value forward(Graph& g, const nn::EncoderLayer& layer, const Value& x, Surroundings& around,
              KeyValues* cache = nullptr);
/// `caches` has one for each layer, or none.
Value forward(Graph& g, const nn::Encoder& stack, const Value& x, Surroundings& around,
              std::vector<KeyValues>* caches = nullptr);

/// Keys and values that a decoder's layer hands on.
struct DecoderKeyValues {
  KeyValues self;    ///< of the positions in front; gets those of x behind them
  KeyValues memory;  ///< of the memory, taken in its place; where there are none they are read and put here
};

/// `around` is of the positions of x, `around_memory` of the memory's.
Value forward(Graph& g, const nn::DecoderLayer& layer, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory, DecoderKeyValues& cache);
/// `caches` has one for each layer.
Value forward(Graph& g, const nn::Decoder& stack, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory, std::vector<DecoderKeyValues>& caches);

}  // namespace tape::models::onnx
