#pragma once

#include "../attention/relative_bias.h"
#include "../embedding/embedding.h"
#include "layer_checkpoints.h"
#include "transformer_layer.h"

namespace tape::nn {

/// Key-value cache of each layer of a stack.
using EncoderCache = std::vector<KeyValueCache>;

/// Self-attention, then feed-forward, each a residual step with dropout and a norm (Vaswani et al. 2017, section 3.1;
/// see residual()): x [B, T, C] -> [B, T, C]. A parallel residual computes both from x and adds them together:
/// x + dropout(self_attention(norm1(x))) + dropout(feed_forward(norm2(x))), with norm1 in both if there is one norm.
/// With a causal mask this is the layer of a decoder-only model. Positions are used by rotary attention. Throws Error
/// (shape) if x or a mask does not fit, prefixed with the path of the inner layer: `self_attention.query: linear: ...`.
class EncoderLayer : public Layer<EncoderLayer> {
 public:
  using Options = TransformerLayerOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for options that its layers reject (heads that do not divide d_model, ...), and for a
  /// parallel residual or no attention norm unless the layer is pre-norm.
  explicit EncoderLayer(const TransformerLayerOptions& options = {});
  /// `rows` are the position rows of disentangled attention, shared by all layers of a stack.
  Tensor forward(const Tensor& x, const Mask& mask = {}, const Positions& positions = {}, const Tensor& rows = {});
  /// Takes only the next positions, causally, with all earlier ones in the cache. Throws Error (config) with
  /// disentangled attention.
  Tensor forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}, const Positions& positions = {});

  NormPlace norm_place() const { return norm_; }            ///< as the options request
  ResidualKind residual_kind() const { return residual_; }  ///< as the options request

  SelfAttention self_attention;   ///< MultiHeadAttention, or DisentangledAttention as the options request
  FeedForwardBlock feed_forward;  ///< C -> d_ff -> C
  Norm norm1,                     ///< of self-attention; Identity without `attention_norm`
      norm2;                      ///< of the feed-forward block; Identity if the sublayers share norm1
  Child<Dropout> dropout;         ///< on the outputs of the sublayers

 private:
  template <class Self>
  Tensor blocks(const Tensor& x, Self&& attend_self);

  NormPlace norm_;
  ResidualKind residual_;
  DropoutPlacement dropped_;
};

/// Stack of encoder layers, x [B, T, C] -> [B, T, C]; pre-norm stacks end with a final norm. A relative bias is added
/// to the self-attention scores of every layer (Raffel et al. 2020, section 2.1).
class Encoder : public Layer<Encoder>, public CheckpointedStack {
 public:
  using Options = TransformerLayerOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for a negative count.
  Encoder(int64_t count, const TransformerLayerOptions& options = {});
  /// Takes options per layer, for example for alternating local and global attention, each with its own rotary base.
  /// The final norm has the last layer's kind, the relative bias comes from the first layer. Throws Error (config) for
  /// an empty list, and if only some layers are pre-norm or have a relative bias or disentangled attention.
  explicit Encoder(const std::vector<TransformerLayerOptions>& options);
  /// Runs the layers. A causal mask makes it the stack of a decoder-only model; positions are used by rotary attention.
  Tensor forward(const Tensor& x, const Mask& mask = {}, const Positions& positions = {});
  /// Returns an empty cache.
  EncoderCache init_cache() const { return EncoderCache(static_cast<size_t>(layers.size())); }
  /// Takes only the next positions, with all earlier ones in the cache, and returns what forward() with Mask::causal()
  /// returns for them. `mask` hides further keys; it covers all positions of the cache and x. Throws Error (config) if
  /// the cache has another number of layers.
  Tensor forward_cached(const Tensor& x, EncoderCache& cache, const Mask& mask = {}, const Positions& positions = {});

  std::unique_ptr<Child<RelativeBias>> relative_bias;  ///< null if disabled
  Children<EncoderLayer> layers;                       ///< in the order in which they run
  std::unique_ptr<Norm> norm;                          ///< null in post-norm stacks
  std::unique_ptr<Child<Embedding>> relative_rows;     ///< of disentangled attention [2k, C]; null if disabled
  std::unique_ptr<Child<LayerNorm>> relative_norm;     ///< over these rows; null if disabled

 private:
  void make_shared_parts(const TransformerLayerOptions& options);
};

}  // namespace tape::nn
