#include "nn/transformer/decoder.h"

#include "nn/attention/attention_steps.h"

namespace tape::nn {

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
    raise(ErrorKind::config, "DecoderLayer: only encoder layers can have a parallel residual");
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

Tensor DecoderLayer::forward_cached(const Tensor& x, DecoderLayerCache& cache, const Mask& memory_mask,
                                    const Mask& mask) {
  return blocks(
      x,
      [&](const Tensor& h) {
        return self_attention.call(&MultiHeadAttention::forward_cached, h, cache.self, mask, Positions());
      },
      [&](const Tensor& h) {
        return cross_attention.call(&MultiHeadAttention::forward_projected, h, cache.memory, memory_mask);
      });
}

Decoder::Decoder(int64_t count, const TransformerLayerOptions& options)
    : relative_bias(make_relative_bias(this, options)), layers(this, "layers", count, options) {
  // Constructed in place: make_unique would move it.
  if (options.norm == NormPlace::pre) norm.reset(new Norm(make_norm(this, "norm", options)));
}

Tensor Decoder::forward(const Tensor& x, const Tensor& memory, const Mask& mask, const Mask& memory_mask) {
  const Mask seen = RelativeBias::combine_with(mask, relative_bias, x.size(1));
  const Mask seen_memory = relative_bias ? uniform_if_all_hidden(memory_mask, x.dtype()) : memory_mask;
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = run_layer({h, memory}, seen, [this, i, seen_memory](const Tensors& in, const Mask& own) {
      return layers[i](in[0], in[1], own, seen_memory);
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
    raise(ErrorKind::config, "Decoder: got a cache of {} layers for {} layers", cache.size(), layers.size());
  const Mask seen =
      RelativeBias::combine_with({}, relative_bias, x.size(1), cache.empty() ? 0 : cache.front().self.length());
  const Mask seen_memory = relative_bias ? uniform_if_all_hidden(memory_mask, x.dtype()) : memory_mask;
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = layers[i].call(&DecoderLayer::forward_cached, h, cache[static_cast<size_t>(i)], seen_memory, seen);
  return norm ? (*norm)(h) : h;
}

}  // namespace tape::nn
