#include "nn/transformer_layer.h"

namespace tape::nn {

Norm make_norm(Module* owner, std::string name, const TransformerLayerOptions& o) {
  if (o.norm_kind == NormKind::rms_norm)
    return {std::in_place_type<RMSNorm>, owner, std::move(name), o.d_model, RMSNormOptions{.eps = o.norm_eps}};
  return {std::in_place_type<LayerNorm>, owner, std::move(name), o.d_model, LayerNormOptions{.eps = o.norm_eps}};
}

FeedForwardBlock make_feed_forward(Module* owner, std::string name, const TransformerLayerOptions& o) {
  const double dropout = o.activation_dropout.value_or(o.dropout);
  if (o.feed_forward == FeedForwardKind::gated)
    return {std::in_place_type<GatedFeedForward>,
            owner,
            std::move(name),
            o.d_model,
            o.d_ff,
            GatedFeedForwardOptions{.activation = o.activation, .dropout = dropout, .bias = o.bias}};
  return {std::in_place_type<FeedForward>,
          owner,
          std::move(name),
          o.d_model,
          o.d_ff,
          FeedForwardOptions{.activation = o.activation, .dropout = dropout, .bias = o.bias}};
}

MultiHeadAttentionOptions self_attention_options(const TransformerLayerOptions& o) {
  MultiHeadAttentionOptions options = cross_attention_options(o);
  options.kv_heads = o.kv_heads;
  options.rotary = o.rotary;
  return options;
}

MultiHeadAttentionOptions cross_attention_options(const TransformerLayerOptions& o) {
  return {.dropout = o.attention_dropout.value_or(o.dropout), .bias = o.bias};
}

TransformerLayerOptions detail::small_layer(NormPlace norm) {
  return {.d_model = 4, .heads = 2, .d_ff = 6, .dropout = 0.2, .activation = ActivationKind::gelu, .norm = norm};
}

}  // namespace tape::nn
