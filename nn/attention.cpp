#include "nn/attention.h"

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/shape.h"
#include "nn/attention_steps.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

const ModuleCheck self_attention("MultiHeadAttention", "self", [](const Checker& check) {
  MultiHeadAttention layer(4, 2, {.dropout = 0.2});
  return check(layer, {sample_normal({2, 3, 4})}, "key.bias");
});
const ModuleCheck cross_attention("MultiHeadAttention", "cross", [](const Checker& check) {
  MultiHeadAttention layer(4, 2, {.bias = false});
  return check(layer, {sample_normal({2, 3, 4}, 1), sample_normal({2, 5, 4}, 2), sample_normal({2, 5, 4}, 3)});
});

const ModuleCheck grouped_queries("MultiHeadAttention", "grouped queries", [](const Checker& check) {
  MultiHeadAttention layer(8, 4, {.dropout = 0.2, .kv_heads = 2, .scale = 0.7});
  return check(layer, {sample_normal({2, 3, 8}, 1), sample_normal({2, 4, 8}, 2), sample_normal({2, 4, 8}, 3)},
               "key.bias");
});
const ModuleCheck turned_keys("MultiHeadAttention", "rotary, multi-query", [](const Checker& check) {
  MultiHeadAttention layer(8, 2, {.kv_heads = 1, .rotary = RotaryOptions{.fraction = 0.5}});
  return check(layer, {sample_normal({2, 3, 8})});
});

int64_t checked_groups(int64_t heads, int64_t kv_heads) {
  if (kv_heads == 0) return heads;
  if (kv_heads < 1 || heads % kv_heads != 0)
    raise(ErrorKind::config, "MultiHeadAttention: heads {} is not divisible by kv_heads {}", heads, kv_heads);
  return kv_heads;
}

/// The heads of keys or values once for each query head of their group: [B, T, kv_heads D] -> [B, T, H D].
Tensor for_groups(const Tensor& x, int64_t heads, int64_t kv_heads) {
  if (heads == kv_heads || x.rank() != 3) return x;
  const int64_t batch = x.size(0), length = x.size(1), width = x.size(2) / kv_heads, group = heads / kv_heads;
  const Tensor apart = reshape(x, Shape{batch, length, kv_heads, 1, width});
  return reshape(expand(apart, {batch, length, kv_heads, group, width}), Shape{batch, length, heads * width});
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& options)
    : query(this, "query", checked_width("MultiHeadAttention", d_model, heads), d_model, LinearOptions{options.bias}),
      key(this, "key", d_model, d_model / heads * checked_groups(heads, options.kv_heads), LinearOptions{options.bias}),
      value(this, "value", d_model, d_model / heads * checked_groups(heads, options.kv_heads),
            LinearOptions{options.bias}),
      output(this, "output", d_model, d_model, LinearOptions{options.bias}),
      d_model_(d_model),
      heads_(heads),
      kv_heads_(checked_groups(heads, options.kv_heads)),
      dropout_(options.dropout),
      scale_(options.scale) {
  check_dropout("MultiHeadAttention", dropout_);
  if (options.rotary) rotary = std::make_unique<Child<Rotary>>(this, "rotary", d_model / heads, *options.rotary);
}

Tensor MultiHeadAttention::turned(const Tensor& x, int64_t first) { return rotary ? (*rotary)(x, first) : x; }

AttentionResult MultiHeadAttention::attend(const Tensor& q, const KeyValueCache& kv, const Mask& mask, bool weights) {
  const AttentionOptions options{
      .mask = mask, .dropout = is_training() ? dropout_ : 0, .scale = scale_, .key_length = kv.length()};
  const Tensor keys = for_groups(kv.key, heads_, kv_heads_), values = for_groups(kv.value, heads_, kv_heads_);
  AttentionResult result;
  if (weights)
    result = multi_head_attention_with_weights(q, keys, values, heads_, options);
  else
    result.output = multi_head_attention(q, keys, values, heads_, options);
  result.output = output(result.output);
  return result;
}

Tensor MultiHeadAttention::forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  // One after the other, not as arguments, whose order is the compiler's: it is the order on the tape.
  const Tensor queries = turned(query(q), 0), keys = turned(key(k), 0), values = value(v);
  return attend(queries, {keys, values}, mask, false).output;
}

AttentionResult MultiHeadAttention::with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor queries = turned(query(q), 0), keys = turned(key(k), 0), values = value(v);
  return attend(queries, {keys, values}, mask, true);
}

Tensor MultiHeadAttention::forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask) {
  const int64_t past = cache.length();
  const Tensor keys = turned(key(x), past), values = value(x);
  cache.append(keys, values);
  return attend(turned(query(x), past), cache, Mask::causal(past) & mask, false).output;
}

KeyValueCache MultiHeadAttention::project(const Tensor& memory) { return {turned(key(memory), 0), value(memory)}; }

Tensor MultiHeadAttention::forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask) {
  const Tensor queries = turned(query(q), 0);
  const int64_t rows = q.size(0), sources = memory.key.size(0), length = q.size(1);
  if (rows == sources || sources == 0 || rows % sources != 0) return attend(queries, memory, mask, false).output;
  // Queries of one memory see it beside each other: no row of it is repeated.
  const Tensor beside = reshape(queries, Shape{sources, rows / sources * length, d_model_});
  return reshape(attend(beside, memory, mask, false).output, Shape{rows, length, d_model_});
}

std::string MultiHeadAttention::settings() const {
  return fmt::format("{}, {} heads{}{}{}", d_model_, heads_,
                     kv_heads_ != heads_ ? fmt::format(", {} of keys and values", kv_heads_) : "",
                     scale_ ? fmt::format(", scale {}", *scale_) : "",
                     dropout_ > 0 ? fmt::format(", dropout {}", dropout_) : "");
}

}  // namespace tape::nn
