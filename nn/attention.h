#pragma once

#include "autograd/ops/attention.h"
#include "nn/linear.h"

namespace tape::nn {

struct MultiHeadAttentionOptions {
  double dropout = 0;  ///< of the attention weights
  bool bias = true;    ///< of the four projections
};

/// Keys and values of the positions seen so far: [B, T, C] each, undefined before the first.
struct KeyValueCache {
  Tensor key, value;
  int64_t length() const { return key.defined() ? key.size(1) : 0; }
};

/// output(concat of heads softmax(Q K^T / sqrt(D)) V), Q = query(q), K = key(k), V = value(v), each head its own D = C
/// / H columns (Vaswani et al. 2017, 3.2.2): q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C].
class MultiHeadAttention : public Layer<MultiHeadAttention> {
 public:
  /// Error (config) where heads does not divide d_model.
  MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& options = {});

  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
  /// Self-attention.
  Tensor forward(const Tensor& x, const Mask& mask = {}) { return forward(x, x, x, mask); }
  /// With the weights [B, H, Tq, Tk].
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});

  /// Self-attention of the next positions x [B, T, C] over all positions of the cache, which x is added to.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache);
  /// Keys and values of a memory [B, Tk, C], to attend to it many times.
  KeyValueCache project(const Tensor& memory);
  Tensor forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask = {});

  /// Keeps the weights of each call in last_weights(), for looking at a model that runs.
  void keep_weights(bool keep);
  const Tensor& last_weights() const { return last_weights_; }

  std::string settings() const override;

  Child<Linear> query, key, value, output;

 private:
  AttentionResult attend(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, bool weights);

  int64_t d_model_, heads_;
  double dropout_;
  bool keep_weights_ = false;
  Tensor last_weights_;
};

}  // namespace tape::nn
