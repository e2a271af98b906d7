#pragma once

#include <optional>

#include "attention.h"
#include "choice.h"
#include "feed_forward.h"
#include "gated_feed_forward.h"
#include "layer_norm.h"
#include "residual.h"
#include "rms_norm.h"

namespace tape::nn {

enum class NormKind { layer_norm, rms_norm };
enum class FeedForwardKind { plain, gated };

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
  bool bias = true;                          ///< of every projection
  int64_t kv_heads = 0;                      ///< of self-attention, see MultiHeadAttentionOptions
  std::optional<RotaryOptions> rotary = {};  ///< of self-attention: positions by rotation
};

/// LayerNorm or RMSNorm, whichever the options ask for.
using Norm = Choice<LayerNorm, RMSNorm>;
/// The feed-forward block that the options ask for.
using FeedForwardBlock = Choice<FeedForward, GatedFeedForward>;

Norm make_norm(Module* owner, std::string name, const TransformerLayerOptions& options);
FeedForwardBlock make_feed_forward(Module* owner, std::string name, const TransformerLayerOptions& options);
MultiHeadAttentionOptions self_attention_options(const TransformerLayerOptions& options);
MultiHeadAttentionOptions cross_attention_options(const TransformerLayerOptions& options);

namespace detail {
/// A layer of width 4 with two heads and dropout: what the registered checks of encoder and decoder are made of.
TransformerLayerOptions small_layer(NormPlace norm);
}  // namespace detail

}  // namespace tape::nn
