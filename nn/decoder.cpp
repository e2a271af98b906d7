#include "nn/decoder.h"

#include "nn/check.h"

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
const ModuleCheck decoder_layer_dropout_last("DecoderLayer", "dropout behind the norm", [](const Checker& check) {
  DecoderLayer layer(detail::small_layer(NormPlace::post_dropout));
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 2, 4}, 2)}, "key.bias");
});
const ModuleCheck decoder_stack("Decoder", "two layers, post-LN", [](const Checker& check) {
  Decoder decoder(2, detail::small_layer(NormPlace::post));
  return check(decoder, {sample_normal({1, 3, 4}, 1), sample_normal({1, 2, 4}, 2)}, "key.bias");
});

}  // namespace

DecoderLayer::DecoderLayer(const TransformerLayerOptions& o)
    : self_attention(this, "self_attention", o.d_model, o.heads, self_attention_options(o)),
      cross_attention(this, "cross_attention", o.d_model, o.heads, cross_attention_options(o)),
      feed_forward(make_feed_forward(this, "feed_forward", o)),
      norm1(make_attention_norm(this, "norm1", o)),
      norm2(make_norm(this, "norm2", o)),
      norm3(make_norm(this, "norm3", o)),
      dropout(this, "dropout", o.dropout),
      norm_(o.norm) {
  if (o.residual != ResidualKind::sequential)
    raise(ErrorKind::config, "DecoderLayer: a parallel residual is of encoder layers alone");
}

template <class Self, class Cross>
Tensor DecoderLayer::blocks(const Tensor& x, Self&& attend_self, Cross&& attend_memory) {
  Tensor h = residual(norm_, x, norm1, dropout, attend_self);
  h = residual(norm_, h, norm2, dropout, attend_memory);
  return residual(norm_, h, norm3, dropout, feed_forward);
}

Tensor DecoderLayer::forward(const Tensor& x, const Tensor& memory, const Mask& mask, const Mask& memory_mask) {
  return blocks(
      x, [&](const Tensor& h) { return self_attention(h, Mask::causal() & mask); },
      [&](const Tensor& h) { return cross_attention(h, memory, memory, memory_mask); });
}

Tensor DecoderLayer::forward_cached(const Tensor& x, DecoderLayerCache& cache, const Mask& memory_mask) {
  return blocks(
      x,
      [&](const Tensor& h) {
        return self_attention.call(&MultiHeadAttention::forward_cached, h, cache.self, Mask(), Positions());
      },
      [&](const Tensor& h) {
        return cross_attention.call(&MultiHeadAttention::forward_projected, h, cache.memory, memory_mask);
      });
}

Decoder::Decoder(int64_t count, const TransformerLayerOptions& options) : layers(this, "layers", count, options) {
  // Made in place: make_unique would have to move it.
  if (options.norm == NormPlace::pre) norm.reset(new Norm(make_norm(this, "norm", options)));
}

Tensor Decoder::forward(const Tensor& x, const Tensor& memory, const Mask& mask, const Mask& memory_mask) {
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = run_layer({h, memory}, [this, i, mask, memory_mask](const Tensors& in) {
      return layers[i](in[0], in[1], mask, memory_mask);
    });
  return norm ? (*norm)(h) : h;
}

DecoderCache Decoder::init_cache(const Tensor& memory) {
  DecoderCache cache(static_cast<size_t>(layers.size()));
  for (int64_t i = 0; i < layers.size(); ++i)
    cache[static_cast<size_t>(i)].memory = layers[i].run([&](DecoderLayer& layer) {
      return layer.cross_attention.run([&](MultiHeadAttention& attention) { return attention.project(memory); });
    });
  return cache;
}

Tensor Decoder::forward_cached(const Tensor& x, DecoderCache& cache, const Mask& memory_mask) {
  if (std::ssize(cache) != layers.size())
    raise(ErrorKind::config, "Decoder: a cache of {} layers for {}", cache.size(), layers.size());
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = layers[i].call(&DecoderLayer::forward_cached, h, cache[static_cast<size_t>(i)], memory_mask);
  return norm ? (*norm)(h) : h;
}

}  // namespace tape::nn
