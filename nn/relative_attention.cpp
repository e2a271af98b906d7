#include "nn/relative_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/check.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/einsum.h"
#include "autograd/ops/index.h"
#include "autograd/ops/matmul.h"
#include "nn/attention_steps.h"
#include "nn/check.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

const ModuleCheck relative_self_attention("RelativeAttention", "self", [](const Checker& check) {
  RelativeAttention layer(4, 2, {.max_distance = 2, .dropout = 0.2});
  return check(layer, {sample_normal({2, 4, 4})}, "key.bias");
});
const ModuleCheck relative_cross_attention("RelativeAttention", "cross", [](const Checker& check) {
  RelativeAttention layer(4, 2, {.max_distance = 1, .bias = false});
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 4, 4}, 2), sample_normal({2, 4, 4}, 3)});
});

Shape positions_shape(int64_t max_distance, int64_t head_width) {
  if (max_distance < 0)
    raise(ErrorKind::config, "RelativeAttention: max_distance must not be negative, got {}", max_distance);
  return {2 * max_distance + 1, head_width};
}

}  // namespace

RelativeAttention::RelativeAttention(int64_t d_model, int64_t heads, const RelativeAttentionOptions& options)
    : query(this, "query", checked_width("RelativeAttention", d_model, heads), d_model, LinearOptions{options.bias}),
      key(this, "key", d_model, d_model, LinearOptions{options.bias}),
      value(this, "value", d_model, d_model, LinearOptions{options.bias}),
      output(this, "output", d_model, d_model, LinearOptions{options.bias}),
      key_positions(this, "key_positions", empty(positions_shape(options.max_distance, d_model / heads))),
      value_positions(this, "value_positions", empty(positions_shape(options.max_distance, d_model / heads))),
      heads_(heads),
      max_distance_(options.max_distance),
      dropout_(options.dropout) {
  check_dropout("RelativeAttention", dropout_);
  const int64_t head_width = d_model / heads;
  const double deviation = 1 / std::sqrt(static_cast<double>(head_width));
  init::normal_(key_positions, 0, deviation);
  init::normal_(value_positions, 0, deviation);
}

AttentionResult RelativeAttention::with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor queries = split_heads(query(q), heads_), keys = split_heads(key(k), heads_),
               values = split_heads(value(v), heads_);  // [B, H, T, D]
  const Tensor rows = rows_by_distance(queries.size(2), keys.size(2), [this](int64_t distance) {
    return std::clamp(distance, -max_distance_, max_distance_) + max_distance_;
  });
  const Tensor between_keys = embedding(key_positions, rows), between_values = embedding(value_positions, rows);

  const double scale = 1 / std::sqrt(static_cast<double>(queries.size(3)));
  const Tensor scores =
      matmul(queries, keys, {.transpose_b = true}) + einsum("bhid,ijd->bhij", {queries, between_keys});
  AttentionResult result{.output = {}, .weights = masked_softmax(scores * scale, mask)};
  const Tensor dropped = dropout(result.weights, is_training() ? dropout_ : 0);
  const Tensor context = matmul(dropped, values) + einsum("bhij,ijd->bhid", {dropped, between_values});
  result.output = output(merge_heads(context));
  return result;
}

std::string RelativeAttention::settings() const {
  return fmt::format("{}, {} heads, distances up to {}{}", query->weight.size(1), heads_, max_distance_,
                     dropout_ > 0 ? fmt::format(", dropout {}", dropout_) : "");
}

}  // namespace tape::nn
