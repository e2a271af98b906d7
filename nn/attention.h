#pragma once

#include "../autograd/ops/attention.h"
#include "key_value_cache.h"
#include "linear.h"
#include "rotary.h"

namespace tape::nn {

struct MultiHeadAttentionOptions {
  double dropout = 0;  ///< of the attention weights
  bool bias = true;    ///< of the four projections
  /// Heads of keys and values, each shared by a group of H / kv_heads query heads (Ainslie et al. 2023, "GQA"); 1 is
  /// multi-query attention (Shazeer 2019), 0 stands for H.
  int64_t kv_heads = 0;
  std::optional<double> scale = {};          ///< of the scores; 1 / sqrt(D) where not given, 1 in T5
  std::optional<RotaryOptions> rotary = {};  ///< turns queries and keys by their positions, counted from 0
};

/// output(concat of heads softmax(Q K^T / sqrt(D)) V), Q = query(q), K = key(k), V = value(v), each head its own D =
/// C/H columns (Vaswani et al. 2017, 3.2.2): q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C]. Masks broadcast to the
/// scores [B, H, Tq, Tk]. Error (shape) for inputs or masks that do not fit, (dtype) for dtypes that differ.
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  /// Error (config) where heads does not divide d_model, or kv_heads does not divide heads, or unless 0 <= dropout < 1.
  MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& options = {});

  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
  /// Self-attention.
  Tensor forward(const Tensor& x, const Mask& mask = {}) { return forward(x, x, x, mask); }
  /// With the weights [B, H, Tq, Tk]; AttentionWeights has those of a model that runs.
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});

  /// Causal self-attention of the next positions x [B, T, C] over all positions of the cache, which x is added to;
  /// `mask` hides more, of all positions of the cache and x.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask = {});
  /// Keys and values of a memory [B, Tk, C], to attend to it many times.
  KeyValueCache project(const Tensor& memory);
  /// q may have several rows for each of the memory, behind each other: q [G B, Tq, C] -> [G B, Tq, C].
  Tensor forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask = {});

  std::string settings() const override;

  Child<Linear> query, key, value, output;
  std::unique_ptr<Child<Rotary>> rotary;  ///< null without

 private:
  Tensor turned(const Tensor& x, int64_t first);
  AttentionResult attend(const Tensor& q, const KeyValueCache& kv, const Mask& mask, bool weights);

  int64_t d_model_, heads_, kv_heads_;
  double dropout_;
  std::optional<double> scale_;
};

}  // namespace tape::nn
