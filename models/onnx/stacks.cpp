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
    const Inside inside(g, **stack.relative_rows);
    rows = g.unsqueeze(g.array("weight", (*stack.relative_rows)->weight), {0});
  }
  return stack.relative_norm ? forward(g, *stack.relative_norm, rows) : rows;
}

template <class Stack>
Value last_norm(Graph& g, const Stack& stack, const Value& x) {
  return stack.norm ? forward(g, *stack.norm, x) : x;
}

}  // namespace

Value forward(Graph& g, const nn::EncoderLayer& layer, const Value& x, Surroundings& around, KeyValues* cache) {
  const Inside inside(g, layer);
  const auto attend_self = [&](const Value& h) {
    if (layer.self_attention.is<nn::DisentangledAttention>())
      return forward(g, *layer.self_attention.as<nn::DisentangledAttention>(), h, around);
    return forward(g, *layer.self_attention, h, around, cache);
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

Value forward(Graph& g, const nn::Encoder& stack, const Value& x, Surroundings& around,
              std::vector<KeyValues>* caches) {
  const Inside inside(g, stack);
  if (stack.relative_bias) {
    around.add_bias(g, **stack.relative_bias);
    around.attend_evenly_if_all_hidden();
  }
  if (stack.relative_rows) around.add_rows(relative_rows(g, stack));
  Value h = x;
  for (int64_t i = 0; i < stack.layers.size(); ++i)
    h = forward(g, *stack.layers[i], h, around, caches ? &(*caches)[static_cast<size_t>(i)] : nullptr);
  return last_norm(g, stack, h);
}

Value forward(Graph& g, const nn::DecoderLayer& layer, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory, DecoderKeyValues& cache) {
  const Inside inside(g, layer);
  const nn::NormPlace place = layer.norm_place();
  Value h = residual(g, place, x, layer.norm1,
                     [&](const Value& in) { return forward(g, *layer.self_attention, in, around, &cache.self); });
  if (!cache.memory.key.defined()) cache.memory = read_memory(g, *layer.cross_attention, memory);
  h = residual(g, place, h, layer.norm2,
               [&](const Value& in) { return attend_to(g, *layer.cross_attention, in, cache.memory, around_memory); });
  return residual(g, place, h, layer.norm3, [&](const Value& in) { return forward(g, layer.feed_forward, in); });
}

Value forward(Graph& g, const nn::Decoder& stack, const Value& x, const Value& memory, Surroundings& around,
              Surroundings& around_memory, std::vector<DecoderKeyValues>& caches) {
  const Inside inside(g, stack);
  if (stack.relative_bias) {
    around.add_bias(g, **stack.relative_bias);
    around_memory.attend_evenly_if_all_hidden();
  }
  Value h = x;
  for (int64_t i = 0; i < stack.layers.size(); ++i)
    h = forward(g, *stack.layers[i], h, memory, around, around_memory, caches[static_cast<size_t>(i)]);
  return last_norm(g, stack, h);
}

}  // namespace tape::models::onnx
