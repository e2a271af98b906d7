#pragma once

#include "../../autograd/ops/attention/attention.h"
#include "../linear.h"
#include "../norm/rms_norm.h"
#include "../position/rotary.h"
#include "key_value_cache.h"

namespace tape::nn {

/// Sliding window: a query at position t attends to the keys at positions t - left .. t + right (Mask::window()).
struct AttentionWindow {
  int64_t left = 0;                                         ///< number of keys before the query
  int64_t right = 0;                                        ///< number of keys after the query
  bool operator==(const AttentionWindow&) const = default;  ///< compares both sides
  /// The last `size` keys, including the query's own: sliding_window of Mistral (Jiang et al. 2023, section 2).
  static AttentionWindow sliding(int64_t size) { return {size - 1, 0}; }
  /// |t - s| <= size / 2: local_attention of ModernBERT (Warner et al. 2024, section 2.1).
  static AttentionWindow around(int64_t size) { return {size / 2, size / 2}; }
};

/// Options of MultiHeadAttention with H heads of D columns each, for inputs of C = d_model columns.
struct MultiHeadAttentionOptions {
  double dropout = 0;  ///< on the attention weights
  bool bias = true;    ///< in the projections of queries, keys and values
  /// Number of key and value heads, each shared by a group of H / kv_heads query heads (Ainslie et al. 2023, "GQA"); 1
  /// is multi-query attention (Shazeer 2019), 0 means H.
  int64_t kv_heads = 0;
  std::optional<double> scale = {};          ///< of the scores; default 1 / sqrt(D), 1 in T5
  std::optional<RotaryOptions> rotary = {};  ///< rotary embedding of queries and keys; none by default
  std::optional<bool> output_bias = {};      ///< in the output projection; default `bias`
  int64_t head_width = 0;                    ///< D, in case H D differs from d_model; 0 means d_model / H
  /// RMSNorm over the D columns of each query and key head, before the rotation (Qwen3; Henry et al. 2020).
  std::optional<RMSNormOptions> query_key_norm = {};
  std::optional<AttentionWindow> window =
      {};  ///< restricts the keys of each query in addition to the mask; none by default
};

/// output(concat of heads softmax(Q K^T / sqrt(D)) V), Q = query(q), K = key(k), V = value(v), with D columns per head
/// (Vaswani et al. 2017, section 3.2.2): q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C]. Masks broadcast to the scores
/// [B, H, Tq, Tk]. Positions are used by the rotation. Throws Error (shape) if inputs, masks or positions do not fit
/// together, Error (dtype) if dtypes differ.
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  using Options = MultiHeadAttentionOptions;  ///< lets Child take options in braces

  /// Throws Error (config) if heads does not divide d_model and no head_width is given, if kv_heads does not divide
  /// heads, unless 0 <= dropout < 1, or for an empty window.
  MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& options = {});

  /// Attention of queries q to keys k and values v. The rotation counts the positions of q and of k from 0.
  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
  /// Self-attention: forward(x, x, x, mask), rotated by the given positions.
  Tensor forward(const Tensor& x, const Mask& mask = {}, const Positions& positions = {});
  /// Also returns the weights [B, H, Tq, Tk]; use AttentionWeights to get those of a whole model.
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});

  /// Causal self-attention of the next positions x [B, T, C] over all positions of the cache, to which x is appended.
  /// `mask` hides further keys; it covers all positions of the cache and x. Positions outside the window are evicted.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}, const Positions& positions = {});
  /// Projects a memory [B, Tk, C] once, for many calls of attend().
  KeyValueCache project(const Tensor& memory);
  /// q may have G consecutive rows per row of the memory: q [G B, Tq, C] -> [G B, Tq, C]. Throws Error (config) with a
  /// window.
  Tensor forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask = {});

  std::string settings() const override;              ///< as in "512, 8 heads, 2 kv heads, dropout 0.1"
  int64_t heads() const { return heads_; }            ///< H
  int64_t kv_heads() const { return kv_heads_; }      ///< of keys and values; H without grouping
  int64_t head_width() const { return head_width_; }  ///< D
  double scale() const;                               ///< of the scores
  /// Returns the sliding window; empty if the options have none.
  const std::optional<AttentionWindow>& window() const { return window_; }

  Child<Linear> query,  ///< C -> H D
      key,              ///< C -> kv_heads D
      value,            ///< C -> kv_heads D
      output;           ///< H D -> C
  /// Norms over the D columns of each head, before the rotation; null if disabled.
  /// @{
  std::unique_ptr<Child<RMSNorm>> query_norm, key_norm;
  /// @}
  std::unique_ptr<Child<Rotary>> rotary;  ///< null if disabled

 private:
  /// Queries [B, Tq, H D], keys and values [B, Tk, kv_heads D].
  struct Projections {
    Tensor queries, keys, values;
  };
  Projections project_all(const Tensor& q, const Tensor& k, const Tensor& v, const Positions& positions);
  /// Normalizes each head, then applies the rotation.
  Tensor normalize_and_rotate(const Tensor& x, const std::unique_ptr<Child<RMSNorm>>& norm, const Positions& positions);
  AttentionResult attend(const Tensor& q, const KeyValueCache& kv, const Mask& mask, bool weights);
  /// Combines `mask` and the window, for queries whose first position is `offset` keys after the first key.
  Mask add_window(const Mask& mask, int64_t offset) const;

  int64_t d_model_, heads_, kv_heads_, head_width_;
  double dropout_;
  std::optional<double> scale_;
  std::optional<AttentionWindow> window_;
};

}  // namespace tape::nn
