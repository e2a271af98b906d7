#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "../../nn/attention/disentangled_attention.h"
#include "../../nn/attention/relative_bias.h"
#include "layers.h"

namespace tape::models::onnx {

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

}  // namespace tape::models::onnx
