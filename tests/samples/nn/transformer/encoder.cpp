#include "nn/transformer/encoder.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck encoder_layer_post("EncoderLayer", "post-LN", [](const Checker& check) {
  EncoderLayer layer(detail::small_layer(NormPlace::post));
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});

const ModuleCheck encoder_layer_pre("EncoderLayer", "pre-LN", [](const Checker& check) {
  EncoderLayer layer(detail::small_layer(NormPlace::pre));
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});

const ModuleCheck encoder_layer_dropout_last("EncoderLayer", "dropout after the norm", [](const Checker& check) {
  EncoderLayer layer(detail::small_layer(NormPlace::post_dropout));
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});

const ModuleCheck encoder_layer_as_llama("EncoderLayer", "RMSNorm, SwiGLU, grouped queries, rotary",
                                         [](const Checker& check) {
                                           EncoderLayer layer({.d_model = 8,
                                                               .heads = 4,
                                                               .d_ff = 6,
                                                               .dropout = 0.2,
                                                               .activation = ActivationKind::silu,
                                                               .norm = NormPlace::pre,
                                                               .norm_kind = NormKind::rms_norm,
                                                               .feed_forward = FeedForwardKind::gated,
                                                               .bias = false,
                                                               .kv_heads = 2,
                                                               .rotary = RotaryOptions{}});
                                           return check(layer, {sample_normal({1, 3, 8})});
                                         });

const ModuleCheck encoder_layer_as_neox("EncoderLayer", "parallel residual", [](const Checker& check) {
  TransformerLayerOptions options = detail::small_layer(NormPlace::pre);
  options.residual = ResidualKind::parallel;
  EncoderLayer layer(options);
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});

const ModuleCheck encoder_layer_as_gptj("EncoderLayer", "parallel residual with one norm", [](const Checker& check) {
  TransformerLayerOptions options = detail::small_layer(NormPlace::pre);
  options.residual = ResidualKind::parallel_one_norm;
  EncoderLayer layer(options);
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});

const ModuleCheck encoder_local_global("Encoder", "local layer without a first norm, then global layer",
                                       [](const Checker& check) {
                                         TransformerLayerOptions local = detail::small_layer(NormPlace::pre);
                                         local.bias = local.norm_bias = false;
                                         TransformerLayerOptions global = local;
                                         local.attention_norm = false;
                                         local.window = AttentionWindow{1, 1};
                                         local.rotary = RotaryOptions{.theta = 100};
                                         global.rotary = RotaryOptions{};
                                         global.query_key_norm = true;
                                         Encoder encoder({local, global});
                                         return check(encoder, {sample_normal({1, 4, 4})});
                                       });

const ModuleCheck encoder_as_deberta("Encoder", "disentangled attention", [](const Checker& check) {
  TransformerLayerOptions options = detail::small_layer(NormPlace::post);
  options.disentangled = DisentangledAttentionOptions{
      .max_distance = 6, .buckets = 2, .share_projections = true, .position_dropout = 0.2, .rows_norm_eps = 1e-7};
  Encoder encoder(2, options);
  return check(encoder, {sample_normal({1, 4, 4})});
});

const ModuleCheck encoder_layer_as_distilbert("EncoderLayer", "no dropout of the attention output",
                                              [](const Checker& check) {
                                                TransformerLayerOptions options = detail::small_layer(NormPlace::post);
                                                options.dropped = DropoutPlacement::feed_forward;
                                                EncoderLayer layer(options);
                                                return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
                                              });

const ModuleCheck encoder_stack("Encoder", "two layers, pre-LN", [](const Checker& check) {
  Encoder encoder(2, detail::small_layer(NormPlace::pre));
  return check(encoder, {sample_normal({1, 3, 4})}, "key.bias");
});

const ModuleCheck encoder_as_t5("Encoder", "relative bias, unscaled", [](const Checker& check) {
  TransformerLayerOptions options = detail::small_layer(NormPlace::pre);
  options.norm_kind = NormKind::rms_norm, options.bias = false, options.attention_scale = 1;
  options.relative_bias = RelativeBiasOptions{.buckets = 4, .max_distance = 3};
  Encoder encoder(2, options);
  return check(encoder, {sample_normal({1, 4, 4})});
});

}  // namespace
}  // namespace tape::nn
