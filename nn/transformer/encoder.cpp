#include "nn/transformer/encoder.h"

#include "nn/attention/attention_steps.h"
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
const ModuleCheck encoder_local_global("Encoder", "a local layer without a first norm, then a global one",
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
const ModuleCheck encoder_layer_as_distilbert("EncoderLayer", "attention is not dropped", [](const Checker& check) {
  TransformerLayerOptions options = detail::small_layer(NormPlace::post);
  options.dropped = DroppedOutputs::feed_forward;
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
  Encoder encoder(2, options, RelativeBiasOptions{.buckets = 4, .max_distance = 3});
  return check(encoder, {sample_normal({1, 4, 4})});
});

/// Norms in front or behind are the stack's, for the last norm depends on them.
const std::vector<TransformerLayerOptions>& checked_stack(const std::vector<TransformerLayerOptions>& options) {
  if (options.empty()) raise(ErrorKind::config, "Encoder: options of no layers");
  for (const TransformerLayerOptions& layer : options)
    if ((layer.norm == NormPlace::pre) != (options.back().norm == NormPlace::pre) ||
        layer.d_model != options.back().d_model)
      raise(ErrorKind::config, "Encoder: layers of one stack need one d_model, and norms in front in all or in none");
  for (const TransformerLayerOptions& layer : options)
    if (layer.disentangled.has_value() != options.back().disentangled.has_value() ||
        (layer.disentangled && layer.disentangled->distances() != options.back().disentangled->distances()))
      raise(ErrorKind::config, "Encoder: layers of one stack need disentangled attention of as many rows, or none");
  return options;
}

}  // namespace

EncoderLayer::EncoderLayer(const TransformerLayerOptions& o)
    : self_attention(make_self_attention(this, "self_attention", o)),
      feed_forward(make_feed_forward(this, "feed_forward", o)),
      norm1(make_attention_norm(this, "norm1", o)),
      norm2(make_feed_forward_norm(this, "norm2", o)),
      dropout(this, "dropout", o.dropout),
      norm_(o.norm),
      residual_(o.residual),
      dropped_(o.dropped) {
  if (dropped_ != DroppedOutputs::both && residual_ != ResidualKind::sequential)
    raise(ErrorKind::config, "EncoderLayer: with a parallel residual the outputs of both sublayers are dropped");
}

template <class Self>
Tensor EncoderLayer::blocks(const Tensor& x, Self&& attend_self) {
  if (residual_ != ResidualKind::sequential) {
    const Tensor h = norm1(x), attended = dropout(attend_self(h));
    return x + attended + dropout(feed_forward(norm2(residual_ == ResidualKind::parallel ? x : h)));
  }
  const auto drop_unless = [this](DroppedOutputs other) {
    return [this, other](const Tensor& y) { return dropped_ == other ? y : dropout(y); };
  };
  const Tensor h = residual(norm_, x, norm1, drop_unless(DroppedOutputs::feed_forward), attend_self);
  return residual(norm_, h, norm2, drop_unless(DroppedOutputs::attention), feed_forward);
}

Tensor EncoderLayer::forward(const Tensor& x, const Mask& mask, const Positions& positions, const Tensor& rows) {
  if (self_attention.is<DisentangledAttention>())
    return blocks(x, [&](const Tensor& h) { return self_attention.as<DisentangledAttention>()(h, rows, mask); });
  return blocks(x, [&](const Tensor& h) { return self_attention(h, mask, positions); });
}

Tensor EncoderLayer::forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask,
                                    const Positions& positions) {
  return blocks(x, [&](const Tensor& h) {
    return self_attention.call(&MultiHeadAttention::forward_cached, h, cache, mask, positions);
  });
}

Encoder::Encoder(int64_t count, const TransformerLayerOptions& options, const std::optional<RelativeBiasOptions>& bias)
    : relative_bias(bias ? std::make_unique<Child<RelativeBias>>(this, "relative_bias", options.heads, *bias)
                         : nullptr),
      layers(this, "layers", count, options) {
  make_what_is_shared(options);
}

Encoder::Encoder(const std::vector<TransformerLayerOptions>& options, const std::optional<RelativeBiasOptions>& bias)
    : relative_bias(bias ? std::make_unique<Child<RelativeBias>>(this, "relative_bias",
                                                                 checked_stack(options).front().heads, *bias)
                         : nullptr),
      layers(this, "layers") {
  for (const TransformerLayerOptions& layer : checked_stack(options)) layers.emplace_back(layer);
  make_what_is_shared(options.back());
}

void Encoder::make_what_is_shared(const TransformerLayerOptions& options) {
  // Made in place: make_unique would have to move it.
  if (options.norm == NormPlace::pre) norm.reset(new Norm(make_norm(this, "norm", options)));
  if (options.disentangled)
    relative_rows = std::make_unique<Child<Embedding>>(this, "relative_rows", 2 * options.disentangled->distances(),
                                                       options.d_model);
  if (options.disentangled && options.disentangled->rows_norm_eps)
    relative_norm = std::make_unique<Child<LayerNorm>>(this, "relative_norm", options.d_model,
                                                       LayerNormOptions{.eps = *options.disentangled->rows_norm_eps});
}

Tensor Encoder::forward(const Tensor& x, const Mask& mask, const Positions& positions) {
  const Mask seen =
      RelativeBias::added_to(relative_bias ? uniform_if_all_hidden(mask, x.dtype()) : mask, relative_bias, x.size(1));
  Tensor rows = relative_rows ? Tensor((*relative_rows)->weight) : Tensor();
  if (relative_norm) rows = (*relative_norm)(rows);
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = run_layer(rows.defined() ? Tensors{h, rows} : Tensors{h}, seen,
                  [this, i, positions](const Tensors& in, const Mask& own) {
                    return layers[i](in[0], own, positions, in.size() > 1 ? in[1] : Tensor());
                  });
  return norm ? (*norm)(h) : h;
}

Tensor Encoder::forward_cached(const Tensor& x, EncoderCache& cache, const Mask& mask, const Positions& positions) {
  if (std::ssize(cache) != layers.size())
    raise(ErrorKind::config, "Encoder: a cache of {} layers for {}", cache.size(), layers.size());
  // Known here, so that all layers turn by one table.
  const int64_t past = cache.empty() ? 0 : cache.front().length();
  const Positions here = positions.or_from(past);
  const Mask seen = RelativeBias::added_to(mask, relative_bias, x.size(1), past);
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = layers[i].call(&EncoderLayer::forward_cached, h, cache[static_cast<size_t>(i)], seen, here);
  return norm ? (*norm)(h) : h;
}

}  // namespace tape::nn
