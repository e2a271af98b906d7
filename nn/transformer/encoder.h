#pragma once

#include "../attention/relative_bias.h"
#include "../embedding/embedding.h"
#include "layer_checkpoints.h"
#include "transformer_layer.h"

namespace tape::nn {

/// Keys and values of each layer of a stack, for the positions seen so far.
using EncoderCache = std::vector<KeyValueCache>;

/// Self-attention, then feed-forward, each a residual step with dropout and a norm (Vaswani et al. 2017, 3.1; see
/// residual()): x [B, T, C] -> [B, T, C]. With a parallel residual both read x and are added to it together:
/// x + dropout(self_attention(norm1(x))) + dropout(feed_forward(norm2(x))), norm1 in both where there is one norm. With
/// a causal mask it is the layer of a decoder-only model. Positions are those of rotary attention. Error (shape) for
/// x or a mask that does not fit, under the path of the layer inside: `self_attention.query: linear: ...`.
class EncoderLayer : public Layer<EncoderLayer> {
 public:
  using Options = TransformerLayerOptions;

  /// Error (config) for options that its layers do not take (heads that do not divide d_model, ...), and for a parallel
  /// residual or no norm of the attention unless norms are in front.
  explicit EncoderLayer(const TransformerLayerOptions& options = {});
  /// `rows` are those that disentangled attention takes its positions from, of all layers of a stack.
  Tensor forward(const Tensor& x, const Mask& mask = {}, const Positions& positions = {}, const Tensor& rows = {});
  /// The next positions alone, causally, with all earlier ones in the cache. Error (config) with disentangled
  /// attention.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}, const Positions& positions = {});

  NormPlace norm_place() const { return norm_; }
  ResidualKind residual_kind() const { return residual_; }

  SelfAttention self_attention;
  FeedForwardBlock feed_forward;
  Norm norm1, norm2;
  Child<Dropout> dropout;

 private:
  template <class Self>
  Tensor blocks(const Tensor& x, Self&& attend_self);

  NormPlace norm_;
  ResidualKind residual_;
  DroppedOutputs dropped_;
};

/// A stack of encoder layers, x [B, T, C] -> [B, T, C]; with norms in front, a last norm behind them all. A relative
/// bias is added to the scores of self-attention in every layer (Raffel et al. 2020, 2.1).
class Encoder : public Layer<Encoder>, public CheckpointedStack {
 public:
  using Options = TransformerLayerOptions;

  /// Error (config) for a negative count.
  Encoder(int64_t count, const TransformerLayerOptions& options = {});
  /// Layers that differ, such as local and global attention in turn, each with its own rotary base. The last norm is of
  /// the last layer's kind, the relative bias the first layer's. Error (config) for an empty list, and for layers of
  /// which only some have norms in front, a relative bias or disentangled attention.
  explicit Encoder(const std::vector<TransformerLayerOptions>& options);
  Tensor forward(const Tensor& x, const Mask& mask = {}, const Positions& positions = {});
  /// An empty cache, before the first position.
  EncoderCache init_cache() const { return EncoderCache(static_cast<size_t>(layers.size())); }
  /// The next positions alone, causally, with all earlier ones in the cache: what forward() with Mask::causal() gives
  /// for them. `mask` hides more, for all positions of the cache and x. Error (config) for a cache of other layers.
  Tensor forward_cached(const Tensor& x, EncoderCache& cache, const Mask& mask = {}, const Positions& positions = {});

  std::unique_ptr<Child<RelativeBias>> relative_bias;  ///< null without
  Children<EncoderLayer> layers;
  std::unique_ptr<Norm> norm;                       ///< null with norms behind
  std::unique_ptr<Child<Embedding>> relative_rows;  ///< of disentangled attention [2k, C]; null without
  std::unique_ptr<Child<LayerNorm>> relative_norm;  ///< over these rows; null without

 private:
  void make_what_is_shared(const TransformerLayerOptions& options);
};

}  // namespace tape::nn
