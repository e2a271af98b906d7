#pragma once

#include <concepts>

#include "../../nn/convolution.h"
#include "../../nn/embedding/embeddings.h"
#include "../../nn/position/positional_encoding.h"
#include "../../nn/transformer/heads.h"
#include "../../nn/transformer/transformer_layer.h"
#include "graph.h"

// What forward() of a layer computes, in evaluation mode, as operators of a graph. A model made of these layers needs a
// function of a few lines (models.h).
namespace tape::models::onnx {

/// A layer that has no function here, and so no place in a graph: Error (config) naming its path and its class.
template <std::derived_from<nn::Module> M, class... A>
Value forward(Graph& g, const M& layer, const A&...) {
  const Inside inside(g, layer);
  return g.refuse(fmt::format("{} has no export", layer.type_name()));
}

/// Error (config) where adapters are not merged.
Value forward(Graph& g, const nn::Linear& layer, const Value& x);
Value forward(Graph& g, const nn::Embedding& layer, const Value& ids);
Value forward(Graph& g, const nn::LayerNorm& layer, const Value& x);
Value forward(Graph& g, const nn::RMSNorm& layer, const Value& x);
Value forward(Graph& g, const nn::Identity& layer, const Value& x);
Value forward(Graph& g, const nn::Activation& layer, const Value& x);
Value forward(Graph& g, const nn::FeedForward& layer, const Value& x);
Value forward(Graph& g, const nn::GatedFeedForward& layer, const Value& x);
/// `positions` [T] or [B, T] where the layer has a table of them and does not count its own, `segments` where it has
/// one of these.
Value forward(Graph& g, const nn::Embeddings& layer, const Value& ids, const Value& positions, const Value& segments);
Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions);
/// nn::PositionalEncoding::at() with positions that skip padding: those in `positions` [T] are of ids that have none.
Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions, const Value& ids,
              int64_t padding_id);
Value forward(Graph& g, const nn::LearnedPositionalEncoding& layer, const Value& x, const Value& positions);

Value forward(Graph& g, const nn::Pooler& layer, const Value& hidden);
Value forward(Graph& g, const nn::ClassificationHead& layer, const Value& x);
Value forward(Graph& g, const nn::MaskedTokenHead& layer, const Value& hidden);
Value forward(Graph& g, const nn::NextTokenHead& layer, const Value& hidden);

Value forward(Graph& g, const nn::Conv2d& layer, const Value& x);

/// The layer that a place for one of several classes holds.
template <class... M>
Value forward(Graph& g, const nn::Choice<M...>& choice, const Value& x) {
  return choice.visit([&](const auto& layer) { return forward(g, layer, x); });
}
template <class M, class... A>
Value forward(Graph& g, const nn::Child<M>& child, const A&... arguments) {
  return forward(g, *child, arguments...);
}

/// nn::mean_pool() with the attention_mask [B, T] (i64): hidden [B, T, C] -> [B, C].
Value mean_pool(Graph& g, const Value& hidden, const Value& attention_mask);

}  // namespace tape::models::onnx
