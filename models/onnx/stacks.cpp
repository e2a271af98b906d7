#include "models/onnx/layers.h"

namespace tape::models::onnx {
namespace {

/// nn::residual() without its dropout.
template <class Sublayer>
Value residual(Graph& g, nn::NormPlace place, const Value& x, const nn::Norm& norm, Sublayer&& sublayer) {
  if (place == nn::NormPlace::pre) return g.add(x, sublayer(forward(g, norm, x)));
  return forward(g, norm, g.add(x, sublayer(x)));
}

/// The position rows that layers of disentangled attention share, [1, 2k, C].
Value relative_rows(Graph& g, const nn::Encoder& stack) {
  Value rows;
  {
    const GraphScope inside(g, **stack.relative_rows);
    rows = g.unsqueeze(g.array("weight", (*stack.relative_rows)->weight), {0});
  }
  return stack.relative_norm ? forward(g, *stack.relative_norm, rows) : rows;
}

template <class Stack>
Value last_norm(Graph& g, const Stack& stack, const Value& x) {
  return stack.norm ? forward(g, *stack.norm, x) : x;
}

}  // namespace

Value forward(Graph& g, const nn::EncoderLayer& layer, const Value& x, AttentionContext& attention_context,
              KeyValues* cache) {
  const GraphScope inside(g, layer);
  const auto attend_self = [&](const Value& h) {
    if (layer.self_attention.is<nn::DisentangledAttention>())
      return forward(g, *layer.self_attention.as<nn::DisentangledAttention>(), h, attention_context);
    return forward(g, *layer.self_attention, h, attention_context, cache);
  };
  const auto feed_forward = [&](const Value& h) { return forward(g, layer.feed_forward, h); };
  if (layer.residual_kind() != nn::ResidualKind::sequential) {
    const Value h = forward(g, layer.norm1, x);
    const bool own = layer.residual_kind() == nn::ResidualKind::parallel;
    return g.add(g.add(x, attend_self(h)), feed_forward(forward(g, layer.norm2, own ? x : h)));
  }
  const Value h = residual(g, layer.norm_place(), x, layer.norm1, attend_self);
  return residual(g, layer.norm_place(), h, layer.norm2, feed_forward);
}

Value forward(Graph& g, const nn::Encoder& stack, const Value& x, AttentionContext& attention_context,
              std::vector<KeyValues>* caches) {
  const GraphScope inside(g, stack);
  if (stack.relative_bias) {
    attention_context.add_bias(g, **stack.relative_bias);
    attention_context.uniform_if_all_hidden();
  }
  if (stack.relative_rows) attention_context.add_rows(relative_rows(g, stack));
  Value h = x;
  for (int64_t i = 0; i < stack.layers.size(); ++i)
    h = forward(g, *stack.layers[i], h, attention_context, caches ? &(*caches)[static_cast<size_t>(i)] : nullptr);
  return last_norm(g, stack, h);
}

Value forward(Graph& g, const nn::DecoderLayer& layer, const Value& x, const Value& memory,
              AttentionContext& attention_context, AttentionContext& memory_context, DecoderKeyValues& cache) {
  const GraphScope inside(g, layer);
  const nn::NormPlace place = layer.norm_place();
  Value h = residual(g, place, x, layer.norm1, [&](const Value& in) {
    return forward(g, *layer.self_attention, in, attention_context, &cache.self);
  });
  if (!cache.memory.key.defined()) cache.memory = read_memory(g, *layer.cross_attention, memory);
  h = residual(g, place, h, layer.norm2,
               [&](const Value& in) { return attend_to(g, *layer.cross_attention, in, cache.memory, memory_context); });
  return residual(g, place, h, layer.norm3, [&](const Value& in) { return forward(g, layer.feed_forward, in); });
}

Value forward(Graph& g, const nn::Decoder& stack, const Value& x, const Value& memory,
              AttentionContext& attention_context, AttentionContext& memory_context,
              std::vector<DecoderKeyValues>& caches) {
  const GraphScope inside(g, stack);
  if (stack.relative_bias) {
    attention_context.add_bias(g, **stack.relative_bias);
    memory_context.uniform_if_all_hidden();
  }
  Value h = x;
  for (int64_t i = 0; i < stack.layers.size(); ++i)
    h = forward(g, *stack.layers[i], h, memory, attention_context, memory_context, caches[static_cast<size_t>(i)]);
  return last_norm(g, stack, h);
}

}  // namespace tape::models::onnx
