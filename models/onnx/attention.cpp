#include "models/onnx/layers.h"

#include <limits>

#include <fmt/format.h>

#include "autograd/create.h"

namespace tape::models::onnx {
namespace {

/// x [B, T, H D] -> [B, T, H, D], normalized per head if there is a norm, -> [B, H, T, D].
Value split_heads(Graph& g, const Value& x, int64_t heads, int64_t width,
                  const std::unique_ptr<nn::Child<nn::RMSNorm>>& norm) {
  const Value apart = g.reshape(x, {0, 0, heads, width});
  return g.permute(norm ? forward(g, *norm, apart) : apart, {0, 2, 1, 3});
}

/// (u, v) -> (u c - v s, u s + v c) for the pairs of the first R columns, halves or neighbors; the others stay.
Value turned(Graph& g, const nn::Rotary& rotary, const Value& x, const AttentionContext::RotaryAngles& turn) {
  const GraphScope inside(g, rotary);
  const int64_t pairs = rotary.rotary_dim() / 2, rest = rotary.head_width() - rotary.rotary_dim();
  const bool halves = rotary.options().pairing == nn::RotaryPairing::halves;
  std::vector<int64_t> columns{2 * pairs};
  if (halves) columns = {pairs, pairs};
  if (rest > 0) columns.push_back(rest);
  const std::vector<Value> parts = columns.size() > 1 ? g.split(x, columns) : std::vector<Value>{x};
  const auto every_second = [&](int64_t first) {
    return g.op("Slice", {parts[0], g.wholes({first}), g.wholes({2 * pairs}), g.wholes({-1}), g.wholes({2})});
  };
  const Value u = halves ? parts[0] : every_second(0), v = halves ? parts[1] : every_second(1);
  const Value first = g.subtract(g.multiply(u, turn.cosine), g.multiply(v, turn.sine));
  const Value second = g.add(g.multiply(u, turn.sine), g.multiply(v, turn.cosine));
  const Value pair =
      halves ? g.concat({first, second}, -1)
             : g.reshape(g.concat({g.unsqueeze(first, {-1}), g.unsqueeze(second, {-1})}, -1), {0, 0, 0, 2 * pairs});
  return rest > 0 ? g.concat({pair, parts.back()}, -1) : pair;
}

/// concat of heads softmax(scores + mask) v, [B, T, H D], of scores [B, H, T, S] and values [B, G, S, D]. The query
/// heads of a group are stacked as rows, so that values need not be repeated.
Value context_of(Graph& g, const Value& scores, const Value& values, const AttentionContext::MaskValues& shown,
                 int64_t heads, int64_t groups, int64_t width) {
  const bool grouped = groups != heads;
  Value weights = g.op("Softmax", {g.add(scores, shown.added)}, {{"axis", int64_t{-1}}});
  if (grouped) weights = g.reshape(weights, {0, groups, -1, 0});     // [B, G, H/G T, S]
  Value context = g.matmul(weights, values);                         // [B, G, H/G T, D]
  if (grouped) context = g.reshape(context, {0, heads, -1, width});  // [B, H, T, D]
  if (shown.any.defined()) context = g.multiply(context, shown.any);
  context = g.permute(context, {0, 2, 1, 3});  // [B, T, H, D]
  return g.reshape(context, {0, 0, heads * width});
}

/// output(concat of heads softmax(q k^T scale + mask) v), without repeating keys either.
Value attend(Graph& g, const nn::MultiHeadAttention& layer, const Value& queries, const KeyValues& kv,
             const AttentionContext::MaskValues& shown) {
  const int64_t heads = layer.heads(), groups = layer.kv_heads(), width = layer.head_width();
  const bool grouped = groups != heads;
  Value q = g.multiply(queries, g.number(layer.scale()));       // [B, H, T, D]
  if (grouped) q = g.reshape(q, {0, groups, -1, width});        // [B, G, H/G T, D]
  Value scores = g.matmul(q, g.permute(kv.key, {0, 1, 3, 2}));  // [B, G, H/G T, S]
  if (grouped) scores = g.reshape(scores, {0, heads, -1, 0});   // [B, H, T, S]
  return forward(g, layer.output, context_of(g, scores, kv.value, shown, heads, groups, width));
}

/// Rows of the distances -n, ... n; the first and the last also stand for all larger distances.
std::vector<int64_t> rows_of_distances(const Graph& g, const nn::DisentangledAttention& layer) {
  constexpr int64_t kMost = 1 << 20, kFar = int64_t{1} << 40;
  const auto fits_in_table = [&layer](int64_t n) {
    return layer.row_of(-n) == layer.row_of(-kFar) && layer.row_of(n) == layer.row_of(kFar);
  };
  int64_t most = 1;
  while (!fits_in_table(most) && most < kMost) most *= 2;
  if (!fits_in_table(most)) g.refuse(fmt::format("separate rows for distances beyond {} cannot be exported", kMost));
  std::vector<int64_t> rows;
  for (int64_t d = -most; d <= most; ++d) rows.push_back(layer.row_of(d));
  return rows;
}

}  // namespace

Value places(Graph& g, const Value& lo, const Value& hi) { return g.op("Range", {lo, hi, g.whole(1)}); }

Value distances(Graph& g, const Value& queries, const Value& keys) {
  return g.subtract(keys, g.unsqueeze(queries, {1}));
}

const AttentionContext::MaskValues& AttentionContext::shown(Graph& g,
                                                            const std::optional<nn::AttentionWindow>& window) {
  for (const auto& [made, shown] : shown_)
    if (made == window) return shown;
  const GraphScope whole(g);
  Value seen = g.unsqueeze(g.cast(attention_mask_, boolean), {1, 2});  // [B, 1, 1, S]
  const auto let = [&](const char* compare, int64_t bound) {
    seen = g.op("And", {seen, g.op(compare, {distance_, g.whole(bound)})});
  };
  if (window) let("GreaterOrEqual", -window->left);
  if (causal_ || window) let("LessOrEqual", causal_ ? 0 : window->right);
  Value added = g.op("Where", {seen, g.number(0), g.number(std::numeric_limits<float>::lowest())});
  if (scores_.defined()) added = g.add(added, scores_);
  Value any;
  if (!evenly_)
    any = g.op("ReduceMax", {g.cast(seen, f32)}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}});
  shown_.push_back({window, {added, any}});
  return shown_.back().second;
}

Value forward(Graph& g, const nn::MultiHeadAttention& layer, const Value& x, AttentionContext& attention_context,
              KeyValues* cache) {
  const GraphScope inside(g, layer);
  const int64_t width = layer.head_width();
  Value q = split_heads(g, forward(g, layer.query, x), layer.heads(), width, layer.query_norm);
  Value k = split_heads(g, forward(g, layer.key, x), layer.kv_heads(), width, layer.key_norm);
  Value v = split_heads(g, forward(g, layer.value, x), layer.kv_heads(), width, nullptr);
  if (layer.rotary) {
    const nn::Rotary& rotary = **layer.rotary;
    const AttentionContext::RotaryAngles& turn = attention_context.turn(g, rotary);
    q = turned(g, rotary, q, turn);
    k = turned(g, rotary, k, turn);
  }
  if (cache && cache->key.defined()) {
    k = g.concat({cache->key, k}, 2);
    v = g.concat({cache->value, v}, 2);
  }
  if (cache) *cache = {k, v};
  return attend(g, layer, q, {k, v}, attention_context.shown(g, layer.window()));
}

KeyValues read_memory(Graph& g, const nn::MultiHeadAttention& layer, const Value& memory) {
  const GraphScope inside(g, layer);
  if (layer.rotary || layer.window()) g.refuse("cross-attention with rotary positions or a window cannot be exported");
  const int64_t width = layer.head_width();
  return {split_heads(g, forward(g, layer.key, memory), layer.kv_heads(), width, layer.key_norm),
          split_heads(g, forward(g, layer.value, memory), layer.kv_heads(), width, nullptr)};
}

Value attend_to(Graph& g, const nn::MultiHeadAttention& layer, const Value& x, const KeyValues& memory,
                AttentionContext& attention_context) {
  const GraphScope inside(g, layer);
  const Value q = split_heads(g, forward(g, layer.query, x), layer.heads(), layer.head_width(), layer.query_norm);
  return attend(g, layer, q, memory, attention_context.shown(g, {}));
}

/// Computes the products of contents with all position rows and gathers the required ones.
Value forward(Graph& g, const nn::DisentangledAttention& layer, const Value& x, AttentionContext& attention_context) {
  const GraphScope inside(g, layer);
  const int64_t heads = layer.heads(), width = layer.query->weight.size(0) / heads;
  const auto apart = [&](const Value& y) { return split_heads(g, y, heads, width, nullptr); };
  const Value q = apart(forward(g, layer.query, x)), k = apart(forward(g, layer.key, x));
  const Value v = apart(forward(g, layer.value, x));
  Value scores = g.matmul(q, g.permute(k, {0, 1, 3, 2}));  // [B, H, T, S]
  const auto add_term = [&](const Value& contents, const std::unique_ptr<nn::Child<nn::Linear>>& own,
                            const nn::Child<nn::Linear>& shared, const Value& picked) {
    const Value rows = apart(forward(g, own ? *own : shared, attention_context.rows()));  // [1, H, 2k, D]
    const Value products = g.matmul(contents, g.permute(rows, {0, 1, 3, 2}));             // [B, H, T, 2k]
    const Value of_pairs = g.op("Gather", {g.reshape(products, {0, 0, -1}), picked}, {{"axis", int64_t{2}}});
    scores = g.add(scores, of_pairs);
  };
  const AttentionContext::GatheredPositions& picked = attention_context.picked(g, layer);
  if (has_content_to_position(layer.options().terms)) add_term(q, layer.position_key, layer.key, picked.of_queries);
  if (has_position_to_content(layer.options().terms)) add_term(k, layer.position_query, layer.query, picked.of_keys);
  scores = g.multiply(scores, g.number(layer.scale()));
  return forward(g, layer.output, context_of(g, scores, v, attention_context.shown(g, {}), heads, heads, width));
}

const AttentionContext::GatheredPositions& AttentionContext::picked(Graph& g, const nn::DisentangledAttention& layer) {
  const std::vector<int64_t> table = rows_of_distances(g, layer);
  for (const auto& [made, picked] : picked_)
    if (made == table) return picked;
  const GraphScope whole(g);
  const int64_t most = std::ssize(table) / 2;
  const Value within = g.op("Clip", {distance_, g.whole(-most), g.whole(most)});
  const Value row = g.op("Gather", {g.wholes(table), g.add(within, g.whole(most))});      // [T, S]
  const Value before = g.multiply(positions_, g.whole(2 * layer.options().distances()));  // [T]
  picked_.push_back({table, {g.add(row, g.unsqueeze(before, {1})), g.add(row, before)}});
  return picked_.back().second;
}

/// All distances beyond max_distance share one bucket, so a table up to it is complete.
void AttentionContext::add_bias(Graph& g, const nn::RelativeBias& layer) {
  const GraphScope inside(g, layer);
  const nn::RelativeBiasOptions& options = layer.options();
  const int64_t most = options.max_distance;
  std::vector<int64_t> buckets;
  for (int64_t d = -most; d <= most; ++d) buckets.push_back(nn::relative_bucket(d, options));
  const Value within = g.op("Clip", {distance_, g.whole(-most), g.whole(most)});
  const Value bucket = g.op("Gather", {g.wholes(buckets), g.add(within, g.whole(most))});
  scores_ = g.permute(g.rows("weight", layer.weight, bucket), {2, 0, 1});
}

}  // namespace tape::models::onnx
