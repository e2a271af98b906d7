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

enum class NormKind { layer_norm, rms_norm };
enum class FeedForwardKind { plain, gated };
/// One sublayer after the other; or both from the same input, with a norm each (GPT-NeoX; Black et al. 2022, 2.1) or
/// one for both (GPT-J).
enum class ResidualKind { sequential, parallel, parallel_one_norm };
/// Whose outputs an encoder layer's dropout is of: ModernBERT's feed-forward blocks and DistilBERT's attention keep
/// theirs.
enum class DroppedOutputs { both, attention, feed_forward };

/// What encoder and decoder layers share. The defaults are the base model of Vaswani et al. 2017; a block as in Llama
/// is
///     {.activation = ActivationKind::silu, .norm = NormPlace::pre, .norm_kind = NormKind::rms_norm,
///      .feed_forward = FeedForwardKind::gated, .bias = false, .kv_heads = 2, .rotary = RotaryOptions{}}
struct TransformerLayerOptions {
  int64_t d_model = 512;
  int64_t heads = 8;
  int64_t d_ff = 2048;
  double dropout = 0.1;  ///< of sublayer outputs, and of the two below where they are not given
  ActivationKind activation = ActivationKind::relu;
  NormPlace norm = NormPlace::post;
  double norm_eps = 1e-5;
  std::optional<double> attention_dropout = {};   ///< of attention weights
  std::optional<double> activation_dropout = {};  ///< inside the feed-forward block; 0 for none
  NormKind norm_kind = NormKind::layer_norm;
  FeedForwardKind feed_forward = FeedForwardKind::plain;
  bool bias = true;                          ///< of every projection, and of attention where not given below
  int64_t kv_heads = 0;                      ///< of self-attention, see MultiHeadAttentionOptions
  std::optional<RotaryOptions> rotary = {};  ///< of self-attention: positions by rotation
  std::optional<bool> attention_bias = {};   ///< of queries, keys and values, all that Qwen2 has
  std::optional<bool> attention_output_bias = {};
  int64_t head_width = 0;                            ///< 0 stands for d_model / heads
  bool query_key_norm = false;                       ///< of self-attention: RMSNorm of each head, with norm_eps
  std::optional<AttentionWindow> window = {};        ///< of self-attention
  ResidualKind residual = ResidualKind::sequential;  ///< of encoder layers with norms in front
  bool norm_bias = true;                             ///< of LayerNorm
  std::optional<double> attention_scale = {};        ///< of all scores; 1 / sqrt(D) where not given, 1 in T5
  bool attention_norm =
      true;  ///< false: self-attention reads its input as it is, norms in front (ModernBERT's first layer)
  DroppedOutputs dropped = DroppedOutputs::both;  ///< of encoder layers, one sublayer after the other
  /// Self-attention of encoder layers is DeBERTa's, in place of what is said of attention above but its dropout; the
  /// stack holds the rows of its positions.
  std::optional<DisentangledAttentionOptions> disentangled = {};
  /// Of a stack: added to the scores of self-attention in every layer (Raffel et al. 2020, 2.1). A layer alone has
  /// none.
  std::optional<RelativeBiasOptions> relative_bias = {};
};

/// LayerNorm or RMSNorm, whichever the options ask for, or Identity where a layer does without.
using Norm = Choice<LayerNorm, RMSNorm, Identity>;
/// Self-attention of an encoder layer.
using SelfAttention = UsualChoice<MultiHeadAttention, DisentangledAttention>;
/// The feed-forward block that the options ask for.
using FeedForwardBlock = Choice<FeedForward, GatedFeedForward>;

/// The norm of self-attention (norm1) and of an encoder layer's feed-forward block (norm2). Error (config) for choices
/// that go with norms in front alone.
Norm make_attention_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
Norm make_feed_forward_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
Norm make_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
FeedForwardBlock make_feed_forward(Module* owner, std::string name, const TransformerLayerOptions& options);
/// Null without.
std::unique_ptr<Child<RelativeBias>> make_relative_bias(Module* owner, const TransformerLayerOptions& options);
SelfAttention make_self_attention(Module* owner, std::string name, const TransformerLayerOptions& options);
MultiHeadAttentionOptions self_attention_options(const TransformerLayerOptions& options);
MultiHeadAttentionOptions cross_attention_options(const TransformerLayerOptions& options);

namespace detail {
/// A layer of width 4 with two heads and dropout: what the registered checks of encoder and decoder are made of.
TransformerLayerOptions small_layer(NormPlace norm);
}  // namespace detail

}  // namespace tape::nn
