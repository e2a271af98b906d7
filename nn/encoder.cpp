#include "nn/encoder.h"

#include "nn/check.h"

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
const ModuleCheck encoder_layer_dropout_last("EncoderLayer", "dropout behind the norm", [](const Checker& check) {
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
const ModuleCheck encoder_stack("Encoder", "two layers, pre-LN", [](const Checker& check) {
  Encoder encoder(2, detail::small_layer(NormPlace::pre));
  return check(encoder, {sample_normal({1, 3, 4})}, "key.bias");
});

}  // namespace

EncoderLayer::EncoderLayer(const TransformerLayerOptions& o)
    : self_attention(this, "self_attention", o.d_model, o.heads, self_attention_options(o)),
      feed_forward(make_feed_forward(this, "feed_forward", o)),
      norm1(make_norm(this, "norm1", o)),
      norm2(make_norm(this, "norm2", o)),
      dropout(this, "dropout", o.dropout),
      norm_(o.norm) {}

template <class Self>
Tensor EncoderLayer::blocks(const Tensor& x, Self&& attend_self) {
  const Tensor h = residual(norm_, x, norm1, dropout, attend_self);
  return residual(norm_, h, norm2, dropout, feed_forward);
}

Tensor EncoderLayer::forward(const Tensor& x, const Mask& mask) {
  return blocks(x, [&](const Tensor& h) { return self_attention(h, mask); });
}

Tensor EncoderLayer::forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask) {
  return blocks(
      x, [&](const Tensor& h) { return self_attention.call(&MultiHeadAttention::forward_cached, h, cache, mask); });
}

Encoder::Encoder(int64_t count, const TransformerLayerOptions& options) : layers(this, "layers", count, options) {
  // Made in place: make_unique would have to move it.
  if (options.norm == NormPlace::pre) norm.reset(new Norm(make_norm(this, "norm", options)));
}

Tensor Encoder::forward(const Tensor& x, const Mask& mask) {
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i) h = layers[i](h, mask);
  return norm ? (*norm)(h) : h;
}

Tensor Encoder::forward_cached(const Tensor& x, EncoderCache& cache, const Mask& mask) {
  if (std::ssize(cache) != layers.size())
    raise(ErrorKind::config, "Encoder: a cache of {} layers for {}", cache.size(), layers.size());
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = layers[i].call(&EncoderLayer::forward_cached, h, cache[static_cast<size_t>(i)], mask);
  return norm ? (*norm)(h) : h;
}

}  // namespace tape::nn
