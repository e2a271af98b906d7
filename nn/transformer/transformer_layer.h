#pragma once

#include <optional>

#include "../attention/attention.h"
#include "../attention/disentangled_attention.h"
#include "../attention/relative_bias.h"
#include "../identity.h"
#include "../module/choice.h"
#include "../norm/layer_norm.h"
#include "../norm/rms_norm.h"
#include "feed_forward.h"
#include "gated_feed_forward.h"
#include "residual.h"

namespace tape::nn {

/// Class of a layer's norms: LayerNorm or RMSNorm.
enum class NormKind { layer_norm, rms_norm };
/// Class of a layer's feed-forward block: FeedForward or GatedFeedForward.
enum class FeedForwardKind { plain, gated };
/// Runs the sublayers one after the other, or both from the same input, with a norm each (GPT-NeoX; Black et al. 2022,
/// section 2.1) or one shared norm (GPT-J).
enum class ResidualKind { sequential, parallel, parallel_one_norm };
/// Sublayers of an encoder layer whose outputs get dropout: ModernBERT's feed-forward blocks and DistilBERT's attention
/// do not.
enum class DropoutPlacement { both, attention, feed_forward };

/// Options shared by encoder and decoder layers. The defaults are the base model of Vaswani et al. 2017; a Llama block
/// is
///     {.activation = ActivationKind::silu, .norm = NormPlace::pre, .norm_kind = NormKind::rms_norm,
///      .feed_forward = FeedForwardKind::gated, .bias = false, .kv_heads = 2, .rotary = RotaryOptions{}}
struct TransformerLayerOptions {
  int64_t d_model = 512;  ///< C, the width of the inputs and outputs
  int64_t heads = 8;      ///< number of attention heads; divides d_model unless head_width is set
  int64_t d_ff = 2048;    ///< width inside the feed-forward block
  double dropout = 0.1;   ///< on sublayer outputs, and the default of attention_dropout and activation_dropout
  ActivationKind activation = ActivationKind::relu;       ///< in the feed-forward block
  NormPlace norm = NormPlace::post;                       ///< placement of the norms
  double norm_eps = 1e-5;                                 ///< of all norms
  std::optional<double> attention_dropout = {};           ///< on attention weights
  std::optional<double> activation_dropout = {};          ///< inside the feed-forward block; 0 for none
  NormKind norm_kind = NormKind::layer_norm;              ///< class of all norms
  FeedForwardKind feed_forward = FeedForwardKind::plain;  ///< class of the feed-forward block
  bool bias = true;                                       ///< in every projection; attention_bias overrides it
  int64_t kv_heads = 0;                                   ///< of self-attention, see MultiHeadAttentionOptions
  std::optional<RotaryOptions> rotary = {};               ///< rotary position embedding in self-attention
  std::optional<bool> attention_bias = {};  ///< in the projections of queries, keys and values (only there in Qwen2)
  std::optional<bool> attention_output_bias = {};    ///< in the output projection of attention; default `bias`
  int64_t head_width = 0;                            ///< 0 means d_model / heads
  bool query_key_norm = false;                       ///< RMSNorm per head in self-attention, with norm_eps
  std::optional<AttentionWindow> window = {};        ///< of self-attention
  ResidualKind residual = ResidualKind::sequential;  ///< of pre-norm encoder layers
  bool norm_bias = true;                             ///< in LayerNorm
  std::optional<double> attention_scale = {};        ///< of all scores; default 1 / sqrt(D), 1 in T5
  bool attention_norm =
      true;  ///< if false, pre-norm self-attention reads its input unnormalized (ModernBERT's first layer)
  DropoutPlacement dropped = DropoutPlacement::both;  ///< of encoder layers with a sequential residual
  /// DeBERTa's self-attention in encoder layers. It replaces all attention options above except the dropout; the stack
  /// owns the position rows.
  std::optional<DisentangledAttentionOptions> disentangled = {};
  /// Relative bias of a stack, added to the self-attention scores of every layer (Raffel et al. 2020, section 2.1). A
  /// single layer ignores it.
  std::optional<RelativeBiasOptions> relative_bias = {};
};

/// LayerNorm or RMSNorm as the options request, or Identity for a layer without a norm.
using Norm = Choice<LayerNorm, RMSNorm, Identity>;
/// Self-attention of an encoder layer.
using SelfAttention = DefaultedChoice<MultiHeadAttention, DisentangledAttention>;
/// The feed-forward block that the options request.
using FeedForwardBlock = Choice<FeedForward, GatedFeedForward>;

/// Returns the norm of self-attention (norm1) or of an encoder layer's feed-forward block (norm2). Throws Error
/// (config) for options that require pre-norm.
/// @{
Norm make_attention_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
Norm make_feed_forward_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
/// @}
/// Returns any other norm, for example the final one of a stack: always a LayerNorm or RMSNorm.
Norm make_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
/// Returns the feed-forward block that the options request.
FeedForwardBlock make_feed_forward(Module* owner, std::string name, const TransformerLayerOptions& options);
/// Returns the relative bias of a stack, or null if disabled.
std::unique_ptr<Child<RelativeBias>> make_relative_bias(Module* owner, const TransformerLayerOptions& options);
/// Returns the self-attention of an encoder layer: DisentangledAttention if options.disentangled is set, otherwise
/// MultiHeadAttention.
SelfAttention make_self_attention(Module* owner, std::string name, const TransformerLayerOptions& options);
/// Returns the options of self-attention in encoder and decoder layers.
MultiHeadAttentionOptions self_attention_options(const TransformerLayerOptions& options);
/// Returns the options of cross-attention in decoder layers: without kv_heads, rotary, query_key_norm and window.
MultiHeadAttentionOptions cross_attention_options(const TransformerLayerOptions& options);

namespace detail {
/// Options of a layer of width 4 with two heads and dropout, for the registered checks of encoder and decoder.
TransformerLayerOptions small_layer(NormPlace norm);
}  // namespace detail

}  // namespace tape::nn
