#include "nn/attention/relative_attention.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/attention/attention_call.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/einsum.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "nn/attention/attention_steps.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

/// One call without its operands.
struct RelativeCall {
  Tensor between_keys, between_values;  // [Tq, Tk, D]
  Mask mask = {};                       // without its bias
  double dropout = 0;
  uint64_t seed = 0, counter = 0;
};

Mask without_added(const Mask& mask) {
  return mask.keep_mask().defined() ? mask.structure() & Mask::keep(mask.keep_mask()) : mask.structure();
}

/// `in` holds query, key and value [B, H, T, D] and the mask's bias.
AttentionSteps steps_of(const RelativeCall& call, const Tensors& in) {
  AttentionSteps steps;
  steps.query = in[0], steps.key = in[1], steps.value = in[2];
  const Tensor scaled = steps.query * (1 / std::sqrt(static_cast<double>(steps.query.size(3))));
  steps.scores = matmul(scaled, steps.key, {.transpose_b = true});
  steps.positions = einsum("bhid,ijd->bhij", {scaled, call.between_keys});
  steps.masked =
      masked_scores(steps.scores + steps.positions, in[3].defined() ? call.mask & Mask::additive(in[3]) : call.mask);
  steps.probabilities = softmax(steps.masked, -1);
  steps.dropped = call.dropout > 0 ? seeded_dropout(steps.probabilities, call.dropout, call.seed, call.counter)
                                   : steps.probabilities;
  steps.context = matmul(steps.dropped, steps.value) + einsum("bhij,ijd->bhid", {steps.dropped, call.between_values});
  steps.output = merge_heads(steps.context);
  return steps;
}

Shape positions_shape(int64_t max_distance, int64_t head_width) {
  if (max_distance < 0)
    raise(ErrorKind::config, "RelativeAttention: max_distance must not be negative, got {}", max_distance);
  return {2 * max_distance + 1, head_width};
}

}  // namespace

RelativeAttention::RelativeAttention(int64_t d_model, int64_t heads, const RelativeAttentionOptions& options)
    : query(this, "query", check_d_model("RelativeAttention", d_model, heads), d_model, {options.bias}),
      key(this, "key", d_model, d_model, {options.bias}),
      value(this, "value", d_model, d_model, {options.bias}),
      output(this, "output", d_model, d_model, {options.bias}),
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

AttentionResult RelativeAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                                          bool need_weights) {
  const Tensor queries = split_heads(query(q), heads_), keys = split_heads(key(k), heads_),
               values = split_heads(value(v), heads_);  // [B, H, T, D]
  const Tensor rows = relative_position_rows(
      queries.size(2), keys.size(2),
      [this](int64_t distance) { return std::clamp(distance, -max_distance_, max_distance_) + max_distance_; },
      queries.device());
  RelativeCall call{.between_keys = embedding(key_positions, rows),
                    .between_values = embedding(value_positions, rows),
                    .mask = without_added(mask)};
  if (is_training() && dropout_ > 0) {
    Generator& draws = generator(Stream::dropout);
    call.dropout = dropout_;
    call.seed = draws.seed();
    call.counter = draws.advance(queries.size(0) * heads_ * queries.size(2) * keys.size(2));
  }
  const AttentionSteps steps = steps_of(call, {queries, keys, values, mask.bias()});
  AttentionResult result;
  // The returned weights get their own node, so that their gradient is kept apart from the output's.
  if (need_weights || attention_weights_requested()) result.weights = alias(steps.probabilities);
  notify_attention([&] {
    RelativeCall again = call;  // a copy, so that keeping it does not keep the tape alive
    again.between_keys = call.between_keys.detach();
    again.between_values = call.between_values.detach();
    return AttentionCall{
        .inputs = {queries, keys, values, mask.bias()},
        .output = steps.output,
        .weights = result.weights,
        .heads = heads_,
        .visible = [hidden = call.mask, Tq = queries.size(2),
                    Tk = keys.size(2)] { return hidden.empty() ? Tensor() : hidden.to_tensor(Tq, Tk); },
        .steps = [again](const Tensors& inputs) { return steps_of(again, inputs); }};
  });
  result.output = output(steps.output);
  return result;
}

std::string RelativeAttention::settings() const {
  return fmt::format("{}, {} heads, distances up to {}{}", query->weight.size(1), heads_, max_distance_,
                     dropout_ > 0 ? fmt::format(", dropout {}", dropout_) : "");
}

}  // namespace tape::nn
