#pragma once

#include "encoder.h"

namespace tape::nn {

/// Key-value caches of one decoder layer during generation.
struct DecoderLayerCache {
  KeyValueCache self;    ///< of the positions generated so far
  KeyValueCache memory;  ///< of the encoder's output, projected once
};
/// Key-value caches of each layer of a Decoder; created by Decoder::init_cache().
using DecoderCache = std::vector<DecoderLayerCache>;

/// Causal self-attention, cross-attention to the encoder's output, then feed-forward, each a residual step as in
/// EncoderLayer: x [B, T, C], memory [B, S, C] -> [B, T, C]. Throws as EncoderLayer.
class DecoderLayer : public Layer<DecoderLayer> {
 public:
  using Options = TransformerLayerOptions;  ///< lets Child take options in braces

  /// Throws Error (config) as EncoderLayer, and for a parallel residual.
  explicit DecoderLayer(const TransformerLayerOptions& options = {});
  /// `mask` hides positions of x in addition to the causal mask, `memory_mask` positions of the memory.
  Tensor forward(const Tensor& x, const Tensor& memory, const Mask& mask = {}, const Mask& memory_mask = {});
  /// Takes only the next positions, with all earlier ones in the cache, which includes the memory (init_cache()).
  /// `mask` covers all positions of the cache and x.
  Tensor forward_cached(const Tensor& x, DecoderLayerCache& cache, const Mask& memory_mask = {}, const Mask& mask = {});

  NormPlace norm_place() const { return norm_; }  ///< as the options request

  Child<MultiHeadAttention> self_attention,  ///< of x, causal
      cross_attention;                       ///< of x to the memory
  FeedForwardBlock feed_forward;             ///< C -> d_ff -> C
  Norm norm1,                                ///< of self-attention
      norm2,                                 ///< of cross-attention
      norm3;                                 ///< of the feed-forward block
  Child<Dropout> dropout;                    ///< on the output of each sublayer

 private:
  template <class Self, class Cross>
  Tensor blocks(const Tensor& x, Self&& attend_self, Cross&& attend_memory);

  NormPlace norm_;
};

/// Stack of decoder layers, x [B, T, C] and memory [B, S, C] -> [B, T, C]; pre-norm stacks end with a final norm. A
/// relative bias is added to the self-attention scores of every layer, as in Encoder.
class Decoder : public Layer<Decoder>, public CheckpointedStack {
 public:
  using Options = TransformerLayerOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for a negative count.
  Decoder(int64_t count, const TransformerLayerOptions& options = {});
  /// Runs the layers; masks as in DecoderLayer::forward().
  Tensor forward(const Tensor& x, const Tensor& memory, const Mask& mask = {}, const Mask& memory_mask = {});
  /// Returns a cache for a memory, before the first position.
  DecoderCache init_cache(const Tensor& memory);
  /// Takes only the next positions, with all earlier ones in the cache, and returns what forward() returns for them.
  /// Throws Error (config) if the cache has another number of layers.
  Tensor forward_cached(const Tensor& x, DecoderCache& cache, const Mask& memory_mask = {});

  std::unique_ptr<Child<RelativeBias>> relative_bias;  ///< null if disabled
  Children<DecoderLayer> layers;                       ///< in the order in which they run
  std::unique_ptr<Norm> norm;                          ///< null in post-norm stacks
};

}  // namespace tape::nn
