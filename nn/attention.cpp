#include "nn/attention.h"

#include "autograd/create.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/join.h"
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

int64_t checked_width(int64_t d_model, int64_t heads) {
  if (d_model < 1 || heads < 1 || d_model % heads != 0)
    raise(ErrorKind::config, "MultiHeadAttention: d_model {} is not divisible by heads {}", d_model, heads);
  return d_model;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& options)
    : query(this, "query", checked_width(d_model, heads), d_model, LinearOptions{options.bias}),
      key(this, "key", d_model, d_model, LinearOptions{options.bias}),
      value(this, "value", d_model, d_model, LinearOptions{options.bias}),
      output(this, "output", d_model, d_model, LinearOptions{options.bias}),
      d_model_(d_model),
      heads_(heads),
      dropout_(options.dropout) {
  check_dropout("MultiHeadAttention", dropout_);
}

AttentionResult MultiHeadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                                           bool weights) {
  const AttentionOptions options{.mask = mask, .dropout = is_training() ? dropout_ : 0};
  AttentionResult result;
  if (weights || keep_weights_)
    result = multi_head_attention_with_weights(q, k, v, heads_, options);
  else
    result.output = multi_head_attention(q, k, v, heads_, options);
  if (keep_weights_) last_weights_ = result.weights.detach();
  result.output = output(result.output);
  return result;
}

Tensor MultiHeadAttention::forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  // One after the other, not as arguments, whose order is the compiler's: it is the order on the tape.
  const Tensor queries = query(q), keys = key(k), values = value(v);
  return attend(queries, keys, values, mask, false).output;
}

AttentionResult MultiHeadAttention::with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor queries = query(q), keys = key(k), values = value(v);
  return attend(queries, keys, values, mask, true);
}

Tensor MultiHeadAttention::forward_cached(const Tensor& x, KeyValueCache& cache) {
  const int64_t past = cache.length();
  const KeyValueCache next = project(x);
  cache.key = past ? cat({cache.key, next.key}, 1) : next.key;
  cache.value = past ? cat({cache.value, next.value}, 1) : next.value;
  return attend(query(x), cache.key, cache.value, Mask::causal(past), false).output;
}

KeyValueCache MultiHeadAttention::project(const Tensor& memory) { return {key(memory), value(memory)}; }

Tensor MultiHeadAttention::forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask) {
  return attend(query(q), memory.key, memory.value, mask, false).output;
}

void MultiHeadAttention::keep_weights(bool keep) {
  keep_weights_ = keep;
  if (!keep) last_weights_ = Tensor();
}

std::string MultiHeadAttention::settings() const {
  return fmt::format("{}, {} heads{}", d_model_, heads_, dropout_ > 0 ? fmt::format(", dropout {}", dropout_) : "");
}

}  // namespace tape::nn
