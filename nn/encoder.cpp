#include "nn/encoder.h"

#include "autograd/ops/arithmetic.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

const TransformerLayerOptions small{
    .d_model = 4, .heads = 2, .d_ff = 6, .dropout = 0.2, .activation = ActivationKind::gelu};

TransformerLayerOptions with_norm(NormPlace norm) {
  TransformerLayerOptions options = small;
  options.norm = norm;
  return options;
}

const ModuleCheck layer_post("EncoderLayer", "post-LN", [](const Checker& check) {
  EncoderLayer layer(with_norm(NormPlace::post));
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});
const ModuleCheck layer_pre("EncoderLayer", "pre-LN", [](const Checker& check) {
  EncoderLayer layer(with_norm(NormPlace::pre));
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});
const ModuleCheck stack("Encoder", "two layers, pre-LN", [](const Checker& check) {
  Encoder encoder(2, with_norm(NormPlace::pre));
  return check(encoder, {sample_normal({1, 3, 4})}, "key.bias");
});

}  // namespace

EncoderLayer::EncoderLayer(const TransformerLayerOptions& o)
    : self_attention(this, "self_attention", o.d_model, o.heads, MultiHeadAttentionOptions{.dropout = o.dropout}),
      feed_forward(this, "feed_forward", o.d_model, o.d_ff, FeedForwardOptions{o.activation, o.dropout}),
      norm1(this, "norm1", o.d_model, LayerNormOptions{o.norm_eps}),
      norm2(this, "norm2", o.d_model, LayerNormOptions{o.norm_eps}),
      dropout(this, "dropout", o.dropout),
      norm_(o.norm) {}

Tensor EncoderLayer::forward(const Tensor& x, const Mask& mask) {
  if (norm_ == NormPlace::pre) {
    const Tensor h = x + dropout(self_attention(norm1(x), mask));
    return h + dropout(feed_forward(norm2(h)));
  }
  const Tensor h = norm1(x + dropout(self_attention(x, mask)));
  return norm2(h + dropout(feed_forward(h)));
}

Encoder::Encoder(int64_t count, const TransformerLayerOptions& options) : layers(this, "layers", count, options) {
  if (options.norm == NormPlace::pre)
    norm = std::make_unique<Child<LayerNorm>>(this, "norm", options.d_model, LayerNormOptions{options.norm_eps});
}

Tensor Encoder::forward(const Tensor& x, const Mask& mask) {
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i) h = layers[i](h, mask);
  return norm ? (*norm)(h) : h;
}

}  // namespace tape::nn
