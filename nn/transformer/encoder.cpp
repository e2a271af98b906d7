#include "nn/transformer/encoder.h"

#include "nn/attention/attention_steps.h"

namespace tape::nn {
namespace {

/// The norm placement is a property of the stack, because the final norm depends on it.
const std::vector<TransformerLayerOptions>& checked_stack(const std::vector<TransformerLayerOptions>& options) {
  if (options.empty()) raise(ErrorKind::config, "Encoder: needs the options of at least one layer");
  for (const TransformerLayerOptions& layer : options)
    if ((layer.norm == NormPlace::pre) != (options.back().norm == NormPlace::pre) ||
        layer.d_model != options.back().d_model)
      raise(ErrorKind::config, "Encoder: all layers must have the same d_model and the same norm placement");
  for (const TransformerLayerOptions& layer : options)
    if (layer.disentangled.has_value() != options.back().disentangled.has_value() ||
        (layer.disentangled && layer.disentangled->distances() != options.back().disentangled->distances()))
      raise(ErrorKind::config,
            "Encoder: all layers must have disentangled attention with the same number of rows, or none");
  for (const TransformerLayerOptions& layer : options)
    if (layer.relative_bias.has_value() != options.front().relative_bias.has_value())
      raise(ErrorKind::config, "Encoder: all layers must share one relative bias, or have none");
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
  if (dropped_ != DropoutPlacement::both && residual_ != ResidualKind::sequential)
    raise(ErrorKind::config, "EncoderLayer: a parallel residual needs dropout on the outputs of both sublayers");
}

template <class Self>
Tensor EncoderLayer::blocks(const Tensor& x, Self&& attend_self) {
  if (residual_ != ResidualKind::sequential) {
    const Tensor h = norm1(x), attended = dropout(attend_self(h));
    return x + attended + dropout(feed_forward(norm2(residual_ == ResidualKind::parallel ? x : h)));
  }
  const auto drop_unless = [this](DropoutPlacement other) {
    return [this, other](const Tensor& y) { return dropped_ == other ? y : dropout(y); };
  };
  const Tensor h = residual(norm_, x, norm1, drop_unless(DropoutPlacement::feed_forward), attend_self);
  return residual(norm_, h, norm2, drop_unless(DropoutPlacement::attention), feed_forward);
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

Encoder::Encoder(int64_t count, const TransformerLayerOptions& options)
    : relative_bias(make_relative_bias(this, options)), layers(this, "layers", count, options) {
  make_shared_parts(options);
}

Encoder::Encoder(const std::vector<TransformerLayerOptions>& options)
    : relative_bias(make_relative_bias(this, checked_stack(options).front())), layers(this, "layers") {
  for (const TransformerLayerOptions& layer : checked_stack(options)) layers.emplace_back(layer);
  make_shared_parts(options.back());
}

void Encoder::make_shared_parts(const TransformerLayerOptions& options) {
  // Constructed in place: make_unique would move it.
  if (options.norm == NormPlace::pre) norm.reset(new Norm(make_norm(this, "norm", options)));
  if (options.disentangled)
    relative_rows = std::make_unique<Child<Embedding>>(this, "relative_rows", 2 * options.disentangled->distances(),
                                                       options.d_model);
  if (options.disentangled && options.disentangled->rows_norm_eps)
    relative_norm = std::make_unique<Child<LayerNorm>>(this, "relative_norm", options.d_model,
                                                       LayerNormOptions{.eps = *options.disentangled->rows_norm_eps});
}

Tensor Encoder::forward(const Tensor& x, const Mask& mask, const Positions& positions) {
  const Mask seen = RelativeBias::combine_with(relative_bias ? uniform_if_all_hidden(mask, x.dtype()) : mask,
                                               relative_bias, x.size(1));
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
    raise(ErrorKind::config, "Encoder: got a cache of {} layers for {} layers", cache.size(), layers.size());
  // Resolved here, so that all layers share one rotation table.
  const int64_t past = cache.empty() ? 0 : cache.front().length();
  const Positions here = positions.or_starting_at(past);
  const Mask seen = RelativeBias::combine_with(relative_bias ? uniform_if_all_hidden(mask, x.dtype()) : mask,
                                               relative_bias, x.size(1), past);
  Tensor h = x;
  for (int64_t i = 0; i < layers.size(); ++i)
    h = layers[i].call(&EncoderLayer::forward_cached, h, cache[static_cast<size_t>(i)], seen, here);
  return norm ? (*norm)(h) : h;
}

}  // namespace tape::nn
