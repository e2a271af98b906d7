#include "nn/transformer/transformer_layer.h"

namespace tape::nn {
namespace {

void check_norms_in_front(const char* what, const TransformerLayerOptions& o) {
  if (o.norm != NormPlace::pre) raise(ErrorKind::config, "TransformerLayerOptions: {} requires NormPlace::pre", what);
}

}  // namespace

Norm make_norm(Module* owner, std::string name, const TransformerLayerOptions& o) {
  if (o.norm_kind == NormKind::rms_norm)
    return {std::in_place_type<RMSNorm>, owner, std::move(name), o.d_model, RMSNormOptions{.eps = o.norm_eps}};
  return {std::in_place_type<LayerNorm>, owner, std::move(name), o.d_model,
          LayerNormOptions{.eps = o.norm_eps, .bias = o.norm_bias}};
}

Norm make_attention_norm(Module* owner, std::string name, const TransformerLayerOptions& o) {
  if (o.attention_norm) return make_norm(owner, std::move(name), o);
  check_norms_in_front("attention_norm = false", o);
  return {std::in_place_type<Identity>, owner, std::move(name)};
}

Norm make_feed_forward_norm(Module* owner, std::string name, const TransformerLayerOptions& o) {
  if (o.residual != ResidualKind::sequential) check_norms_in_front("a parallel residual", o);
  if (o.residual != ResidualKind::parallel_one_norm) return make_norm(owner, std::move(name), o);
  return {std::in_place_type<Identity>, owner, std::move(name)};
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

std::unique_ptr<Child<RelativeBias>> make_relative_bias(Module* owner, const TransformerLayerOptions& o) {
  if (!o.relative_bias) return nullptr;
  return std::make_unique<Child<RelativeBias>>(owner, "relative_bias", o.heads, *o.relative_bias);
}

SelfAttention make_self_attention(Module* owner, std::string name, const TransformerLayerOptions& o) {
  if (!o.disentangled)
    return {
        std::in_place_type<MultiHeadAttention>, owner, std::move(name), o.d_model, o.heads, self_attention_options(o)};
  DisentangledAttentionOptions options = *o.disentangled;
  options.dropout = o.attention_dropout.value_or(o.dropout);
  return {std::in_place_type<DisentangledAttention>, owner, std::move(name), o.d_model, o.heads, options};
}

MultiHeadAttentionOptions self_attention_options(const TransformerLayerOptions& o) {
  MultiHeadAttentionOptions options = cross_attention_options(o);
  options.kv_heads = o.kv_heads;
  options.rotary = o.rotary;
  if (o.query_key_norm) options.query_key_norm = RMSNormOptions{.eps = o.norm_eps};
  options.window = o.window;
  return options;
}

MultiHeadAttentionOptions cross_attention_options(const TransformerLayerOptions& o) {
  return {.dropout = o.attention_dropout.value_or(o.dropout),
          .bias = o.attention_bias.value_or(o.bias),
          .scale = o.attention_scale,
          .output_bias = o.attention_output_bias.value_or(o.bias),
          .head_width = o.head_width};
}

TransformerLayerOptions detail::small_layer(NormPlace norm) {
  return {.d_model = 4, .heads = 2, .d_ff = 6, .dropout = 0.2, .activation = ActivationKind::gelu, .norm = norm};
}

}  // namespace tape::nn
