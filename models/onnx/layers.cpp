#include "models/onnx/layers.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/shape/join.h"

namespace tape::models::onnx {
namespace {

/// x weight^T + bias.
Value product(Graph& g, const nn::Parameter& weight, const nn::Parameter& bias, const Value& x) {
  const Value y = g.matmul(x, g.transposed("weight", weight));
  return bias.defined() ? g.add(y, g.vector("bias", bias)) : y;
}

/// x (1 + erf(x / sqrt(2))) / 2.
Value gelu(Graph& g, const Value& x) {
  const Value erf = g.op("Erf", {g.divide(x, g.number(std::numbers::sqrt2))});
  return g.multiply(g.multiply(x, g.add(erf, g.number(1))), g.number(0.5));
}

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
Value gelu_tanh(Graph& g, const Value& x) {
  const Value cube = g.multiply(g.op("Pow", {x, g.number(3)}), g.number(0.044715));
  const Value inner = g.multiply(g.add(x, cube), g.number(std::sqrt(2 / std::numbers::pi)));
  return g.multiply(g.multiply(x, g.number(0.5)), g.add(g.op("Tanh", {inner}), g.number(1)));
}

/// RoBERTa's positions: from padding + 1 for the ids that are not padding, and padding for those that are.
Value positions_behind(Graph& g, const Value& ids, int64_t padding) {
  const Value real = g.cast(g.op("Not", {g.op("Equal", {ids, g.whole(padding)})}), i64);
  return g.add(g.multiply(g.op("CumSum", {real, g.whole(1)}), real), g.whole(padding));
}

float f(double value) { return static_cast<float>(value); }

}  // namespace

Value forward(Graph& g, const nn::Linear& layer, const Value& x) {
  const GraphScope inside(g, layer);
  if (!layer.adapter_names().empty() && !layer.is_merged())
    g.refuse(fmt::format("the adapter \"{}\" is not merged (nn::merge_adapters)", layer.adapter_names().front()));
  return product(g, layer.weight, layer.bias, x);
}

Value forward(Graph& g, const nn::Embedding& layer, const Value& ids) {
  const GraphScope inside(g, layer);
  return g.rows("weight", layer.weight, ids);
}

Value forward(Graph& g, const nn::LayerNorm& layer, const Value& x) {
  const GraphScope inside(g, layer);
  std::vector<Value> inputs{x, g.vector("weight", layer.weight)};
  if (layer.bias.defined()) inputs.push_back(g.vector("bias", layer.bias));
  return g.op("LayerNormalization", inputs, {{"axis", int64_t{-1}}, {"epsilon", f(layer.eps())}});
}

Value forward(Graph& g, const nn::RMSNorm& layer, const Value& x) {
  const GraphScope inside(g, layer);
  const Value mean = g.op("ReduceMean", {g.op("Pow", {x, g.number(2)})}, {{"axes", std::vector<int64_t>{-1}}});
  const Value deviation = g.op("Sqrt", {g.add(mean, g.number(layer.eps()))});
  return g.multiply(g.divide(x, deviation), g.vector("weight", layer.weight));
}

Value forward(Graph&, const nn::Identity&, const Value& x) { return x; }

Value forward(Graph& g, const nn::Activation& layer, const Value& x) {
  const GraphScope inside(g, layer);
  switch (layer.kind()) {
    case nn::ActivationKind::relu:
      return g.op("Relu", {x});
    case nn::ActivationKind::gelu:
      return gelu(g, x);
    case nn::ActivationKind::gelu_tanh:
      return gelu_tanh(g, x);
    case nn::ActivationKind::silu:
      return g.multiply(x, g.op("Sigmoid", {x}));
    case nn::ActivationKind::tanh:
      return g.op("Tanh", {x});
    case nn::ActivationKind::sigmoid:
      return g.op("Sigmoid", {x});
  }
  g.refuse(fmt::format("the activation {} cannot be exported", nn::to_string(layer.kind())));
}

Value forward(Graph& g, const nn::FeedForward& layer, const Value& x) {
  const GraphScope inside(g, layer);
  return forward(g, layer.linear2, forward(g, layer.activation, forward(g, layer.linear1, x)));
}

Value forward(Graph& g, const nn::GatedFeedForward& layer, const Value& x) {
  const GraphScope inside(g, layer);
  const Value gated = forward(g, layer.activation, forward(g, layer.gate, x));
  return forward(g, layer.down, g.multiply(gated, forward(g, layer.up, x)));
}

Value forward(Graph& g, const nn::Embeddings& layer, const Value& ids, const Value& positions, const Value& segments) {
  const GraphScope inside(g, layer);
  Value x = forward(g, layer.token, ids);
  const std::optional<int64_t> skipped = layer.skipped_padding_id();
  if (layer.position)
    x = g.add(x, forward(g, *layer.position, skipped ? positions_behind(g, ids, *skipped) : positions));
  if (layer.segment) x = g.add(x, forward(g, *layer.segment, segments));
  return layer.norm ? forward(g, *layer.norm, x) : x;
}

Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions) {
  const GraphScope inside(g, layer);
  return g.add(x, g.op("Gather", {g.constant(layer.table.to(f32)), positions}));
}

Value forward(Graph& g, const nn::PositionalEncoding& layer, const Value& x, const Value& positions, const Value& ids,
              int64_t padding_id) {
  const GraphScope inside(g, layer);
  const Value real = g.cast(g.op("Not", {g.op("Equal", {ids, g.whole(padding_id)})}), i64);
  const Value first = g.op("Gather", {positions, g.whole(0)});
  // Row 0 is for padding.
  const Value rows = g.multiply(g.add(g.op("CumSum", {real, g.whole(1)}), first), real);
  const Tensor table = layer.table.to(f32);
  return g.add(x, g.op("Gather", {g.constant(cat({zeros({1, table.size(1)}), table}, 0)), rows}));
}

Value forward(Graph& g, const nn::LearnedPositionalEncoding& layer, const Value& x, const Value& positions) {
  const GraphScope inside(g, layer);
  const Value rows = layer.offset() == 0 ? positions : g.add(positions, g.whole(layer.offset()));
  return g.add(x, g.rows("weight", layer.weight, rows));
}

Value forward(Graph& g, const nn::Pooler& layer, const Value& hidden) {
  const GraphScope inside(g, layer);
  const Value first = g.op("Gather", {hidden, g.whole(0)}, {{"axis", int64_t{1}}});
  return g.op("Tanh", {forward(g, layer.dense, first)});
}

Value forward(Graph& g, const nn::ClassificationHead& layer, const Value& x) {
  const GraphScope inside(g, layer);
  Value h = x;
  if (layer.dense) h = forward(g, *layer.activation, forward(g, *layer.dense, h));
  if (layer.norm) h = forward(g, *layer.norm, h);
  return forward(g, layer.classifier, h);
}

Value forward(Graph& g, const nn::MaskedTokenHead& layer, const Value& hidden) {
  const GraphScope inside(g, layer);
  const Value dense = forward(g, layer.activation, forward(g, layer.dense, hidden));
  return forward(g, layer.decoder, forward(g, layer.norm, dense));
}

Value forward(Graph& g, const nn::NextTokenHead& layer, const Value& hidden) {
  const GraphScope inside(g, layer);
  const Value logits = product(g, layer.weight, layer.bias, hidden);
  return layer.gives() == nn::TokenOutput::logits ? logits : g.op("Softmax", {logits}, {{"axis", int64_t{-1}}});
}

Value forward(Graph& g, const nn::Conv2d& layer, const Value& x) {
  const GraphScope inside(g, layer);
  const ConvOptions& o = layer.options();
  const std::vector<int64_t> dilation = o.dilation.of("Conv2d", "dilation", 2, 1);
  std::vector<int64_t> before(2), behind(2);
  for (const size_t axis : {0u, 1u}) {
    if (o.padding.same()) {
      const int64_t all = dilation[axis] * (layer.weight.size(static_cast<int64_t>(axis) + 2) - 1);
      before[axis] = all / 2, behind[axis] = all - all / 2;
    } else {
      before[axis] = behind[axis] = o.padding.sizes().of("Conv2d", "padding", 2, 0)[axis];
    }
  }
  std::vector<Value> inputs{x, g.array("weight", layer.weight)};
  if (layer.bias.defined()) inputs.push_back(g.vector("bias", layer.bias));
  return g.op("Conv", inputs,
              {{"strides", o.stride.of("Conv2d", "stride", 2, 1)},
               {"dilations", dilation},
               {"group", o.groups},
               {"pads", std::vector<int64_t>{before[0], before[1], behind[0], behind[1]}}});
}

Value mean_pool(Graph& g, const Value& hidden, const Value& attention_mask) {
  const Value seen = g.cast(g.cast(attention_mask, boolean), f32);
  const Value count = g.op("ReduceSum", {seen, g.wholes({-1})}, {{"keepdims", int64_t{1}}});
  const Value share = g.unsqueeze(g.divide(seen, g.op("Max", {count, g.number(1)})), {1});  // [B, 1, T]
  return g.op("Squeeze", {g.matmul(share, hidden), g.wholes({1})});
}

}  // namespace tape::models::onnx
