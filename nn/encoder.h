#pragma once

#include "transformer_layer.h"

namespace tape::nn {

/// Keys and values of each layer of a stack, for the positions seen so far.
using EncoderCache = std::vector<KeyValueCache>;

/// Self-attention, then feed-forward, each a residual step with dropout and a norm (Vaswani et al. 2017, 3.1; see
/// residual()): x [B, T, C] -> [B, T, C]. With a causal mask it is the layer of a decoder-only model. Error (shape) for
/// x or a mask that does not fit, under the path of the layer inside: `self_attention.query: linear: ...`.
class EncoderLayer : public Layer<EncoderLayer> {
 public:
  /// Error (config) for options that its layers do not take (heads that do not divide d_model, ...).
  explicit EncoderLayer(const TransformerLayerOptions& options = {});
  Tensor forward(const Tensor& x, const Mask& mask = {});
  /// The next positions alone, causally, with all earlier ones in the cache.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask = {});

  Child<MultiHeadAttention> self_attention;
  FeedForwardBlock feed_forward;
  Norm norm1, norm2;
  Child<Dropout> dropout;

 private:
  template <class Self>
  Tensor blocks(const Tensor& x, Self&& attend_self);

  NormPlace norm_;
};

/// A stack of encoder layers, x [B, T, C] -> [B, T, C]; with norms in front, a last norm behind them all.
class Encoder : public Layer<Encoder> {
 public:
  /// Error (config) for a negative count.
  Encoder(int64_t count, const TransformerLayerOptions& options = {});
  Tensor forward(const Tensor& x, const Mask& mask = {});
  /// An empty cache, before the first position.
  EncoderCache init_cache() const { return EncoderCache(static_cast<size_t>(layers.size())); }
  /// The next positions alone, causally, with all earlier ones in the cache: what forward() with Mask::causal() gives
  /// for them. `mask` hides more, for all positions of the cache and x. Error (config) for a cache of other layers.
  Tensor forward_cached(const Tensor& x, EncoderCache& cache, const Mask& mask = {});

  Children<EncoderLayer> layers;
  std::unique_ptr<Norm> norm;  ///< null with norms behind
};

}  // namespace tape::nn
