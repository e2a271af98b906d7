#include "nn/transformer/decoder.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck decoder_layer_post("DecoderLayer", "post-LN", [](const Checker& check) {
  DecoderLayer layer(detail::small_layer(NormPlace::post));
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 2, 4}, 2)}, "key.bias");
});

const ModuleCheck decoder_layer_pre("DecoderLayer", "pre-LN", [](const Checker& check) {
  DecoderLayer layer(detail::small_layer(NormPlace::pre));
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 2, 4}, 2)}, "key.bias");
});

const ModuleCheck decoder_layer_dropout_last("DecoderLayer", "dropout after the norm", [](const Checker& check) {
  DecoderLayer layer(detail::small_layer(NormPlace::post_dropout));
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 2, 4}, 2)}, "key.bias");
});

const ModuleCheck decoder_stack("Decoder", "two layers, post-LN", [](const Checker& check) {
  Decoder decoder(2, detail::small_layer(NormPlace::post));
  return check(decoder, {sample_normal({1, 3, 4}, 1), sample_normal({1, 2, 4}, 2)}, "key.bias");
});

const ModuleCheck decoder_as_t5("Decoder", "relative bias, unscaled", [](const Checker& check) {
  TransformerLayerOptions options = detail::small_layer(NormPlace::pre);
  options.norm_kind = NormKind::rms_norm, options.bias = false, options.attention_scale = 1;
  options.relative_bias = RelativeBiasOptions{.buckets = 3, .max_distance = 3, .direction = RelativeDirection::past};
  Decoder decoder(2, options);
  return check(decoder, {sample_normal({1, 4, 4}, 1), sample_normal({1, 2, 4}, 2)});
});

}  // namespace
}  // namespace tape::nn
