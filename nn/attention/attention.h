#pragma once

#include "../../autograd/ops/attention/attention.h"
#include "../linear.h"
#include "../norm/rms_norm.h"
#include "../position/rotary.h"
#include "key_value_cache.h"

namespace tape::nn {

/// The keys that a query at position t sees: those of positions t - left .. t + right (Mask::window()).
struct AttentionWindow {
  int64_t left = 0;
  int64_t right = 0;
  bool operator==(const AttentionWindow&) const = default;
  /// `size` keys, the query's own the last: the sliding_window of Mistral (Jiang et al. 2023, 2).
  static AttentionWindow sliding(int64_t size) { return {size - 1, 0}; }
  /// |t - s| <= size / 2: the local_attention of ModernBERT (Warner et al. 2024, 2.1).
  static AttentionWindow around(int64_t size) { return {size / 2, size / 2}; }
};

struct MultiHeadAttentionOptions {
  double dropout = 0;  ///< of the attention weights
  bool bias = true;    ///< of the projections of queries, keys and values
  /// Heads of keys and values, each shared by a group of H / kv_heads query heads (Ainslie et al. 2023, "GQA"); 1 is
  /// multi-query attention (Shazeer 2019), 0 stands for H.
  int64_t kv_heads = 0;
  std::optional<double> scale = {};          ///< of the scores; 1 / sqrt(D) where not given, 1 in T5
  std::optional<RotaryOptions> rotary = {};  ///< turns queries and keys by their positions
  std::optional<bool> output_bias = {};      ///< of the output's projection; as `bias` where not given
  int64_t head_width = 0;                    ///< D, with which H D need not be d_model; 0 stands for d_model / H
  /// RMSNorm over the D columns of each head of queries and keys, in front of the rotation (Qwen3; Henry et al. 2020).
  std::optional<RMSNormOptions> query_key_norm = {};
  std::optional<AttentionWindow> window =
      {};  ///< the keys that each query sees; all that the mask lets where not given
};

/// output(concat of heads softmax(Q K^T / sqrt(D)) V), Q = query(q), K = key(k), V = value(v), each head its own D
/// columns (Vaswani et al. 2017, 3.2.2): q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C]. Masks broadcast to the scores
/// [B, H, Tq, Tk]. Positions are those of the rotation. Error (shape) for inputs, masks or positions that do not fit,
/// (dtype) for dtypes that differ.
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  using Options = MultiHeadAttentionOptions;

  /// Error (config) where heads does not divide d_model and no head_width is given, or kv_heads does not divide heads,
  /// or unless 0 <= dropout < 1, or for a window of no keys.
  MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& options = {});

  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
  /// Self-attention.
  Tensor forward(const Tensor& x, const Mask& mask = {}, const Positions& positions = {});
  /// With the weights [B, H, Tq, Tk]; AttentionWeights has those of a model that runs.
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});

  /// Causal self-attention of the next positions x [B, T, C] over all positions of the cache, which x is added to;
  /// `mask` hides more, of all positions of the cache and x. What a window has left behind, the cache forgets.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}, const Positions& positions = {});
  /// Keys and values of a memory [B, Tk, C], to attend to it many times.
  KeyValueCache project(const Tensor& memory);
  /// q may have several rows for each of the memory, behind each other: q [G B, Tq, C] -> [G B, Tq, C]. Error (config)
  /// with a window.
  Tensor forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask = {});

  std::string settings() const override;
  int64_t heads() const { return heads_; }
  int64_t kv_heads() const { return kv_heads_; }
  int64_t head_width() const { return head_width_; }  ///< D
  double scale() const;                               ///< of the scores
  const std::optional<AttentionWindow>& window() const { return window_; }

  Child<Linear> query, key, value, output;
  std::unique_ptr<Child<RMSNorm>> query_norm, key_norm;  ///< of each head; null without
  std::unique_ptr<Child<Rotary>> rotary;                 ///< null without

 private:
  Tensor queries_of(const Tensor& x, const Positions& positions);
  Tensor keys_of(const Tensor& x, const Positions& positions);
  /// Each head normalized, then turned.
  Tensor ready(const Tensor& x, const std::unique_ptr<Child<RMSNorm>>& norm, const Positions& positions);
  AttentionResult attend(const Tensor& q, const KeyValueCache& kv, const Mask& mask, bool weights);
  /// `mask` and the window of queries whose first stands `offset` keys behind the first key.
  Mask windowed(const Mask& mask, int64_t offset) const;

  int64_t d_model_, heads_, kv_heads_, head_width_;
  double dropout_;
  std::optional<double> scale_;
  std::optional<AttentionWindow> window_;
};

}  // namespace tape::nn
