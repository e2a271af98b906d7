#include "nn/attention/attention.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/check.h"
#include "autograd/ops/shape/shape.h"
#include "nn/attention/attention_steps.h"

namespace tape::nn {
namespace {

int64_t checked_groups(int64_t heads, int64_t kv_heads) {
  if (kv_heads == 0) return heads;
  if (kv_heads < 1 || heads % kv_heads != 0)
    raise(ErrorKind::config, "MultiHeadAttention: heads {} is not divisible by kv_heads {}", heads, kv_heads);
  return kv_heads;
}

/// Returns D. Runs in the initializer of the first member, so that sizes are checked before anything is built.
int64_t checked_head_width(int64_t d_model, int64_t heads, int64_t head_width) {
  if (head_width == 0) return check_d_model("MultiHeadAttention", d_model, heads) / heads;
  if (head_width < 0 || heads < 1)
    raise(ErrorKind::config, "MultiHeadAttention: {} heads of width {}", heads, head_width);
  return head_width;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t heads, const MultiHeadAttentionOptions& o)
    : query(this, "query", d_model, heads * checked_head_width(d_model, heads, o.head_width), {o.bias}),
      key(this, "key", d_model, query->weight.size(0) / heads * checked_groups(heads, o.kv_heads),
          LinearOptions{o.bias}),
      value(this, "value", d_model, key->weight.size(0), {o.bias}),
      output(this, "output", query->weight.size(0), d_model, {o.output_bias.value_or(o.bias)}),
      d_model_(d_model),
      heads_(heads),
      kv_heads_(checked_groups(heads, o.kv_heads)),
      head_width_(query->weight.size(0) / heads),
      dropout_(o.dropout),
      scale_(o.scale),
      window_(o.window) {
  check_dropout("MultiHeadAttention", dropout_);
  if (window_ && (window_->left < 0 || window_->right < 0))
    raise(ErrorKind::config, "MultiHeadAttention: a window from {} keys before to {} after is empty", window_->left,
          window_->right);
  if (o.query_key_norm) {
    query_norm = std::make_unique<Child<RMSNorm>>(this, "query_norm", head_width_, *o.query_key_norm);
    key_norm = std::make_unique<Child<RMSNorm>>(this, "key_norm", head_width_, *o.query_key_norm);
  }
  if (o.rotary) rotary = std::make_unique<Child<Rotary>>(this, "rotary", head_width_, *o.rotary);
}

Tensor MultiHeadAttention::normalize_and_rotate(const Tensor& x, const std::unique_ptr<Child<RMSNorm>>& norm,
                                                const Positions& positions) {
  Tensor heads = x;
  if (norm) {
    const Shape apart = x.shape().with(x.rank() - 1, x.size(-1) / head_width_).inserted(x.rank(), head_width_);
    heads = reshape((*norm)(reshape(x, apart)), x.shape());
  }
  return rotary ? (*rotary)(heads, positions) : heads;
}

MultiHeadAttention::Projections MultiHeadAttention::project_all(const Tensor& q, const Tensor& k, const Tensor& v,
                                                                const Positions& positions) {
  // The products follow each other, so that a GPU launches those of one input together. Separate variables, because
  // the evaluation order of arguments is unspecified and decides the order on the tape.
  const Tensor queries = query(q), keys = key(k), values = value(v);
  const Tensor turned = normalize_and_rotate(queries, query_norm, positions);
  return {turned, normalize_and_rotate(keys, key_norm, positions), values};
}

Mask MultiHeadAttention::add_window(const Mask& mask, int64_t offset) const {
  return window_ ? mask & Mask::window(window_->left, window_->right, offset) : mask;
}

AttentionResult MultiHeadAttention::attend(const Tensor& q, const KeyValueCache& kv, const Mask& mask, bool weights) {
  const AttentionOptions options{
      .mask = mask, .dropout = is_training() ? dropout_ : 0, .scale = scale_, .enable_gqa = kv_heads_ != heads_};
  const KvCacheView cached{kv.key, kv.value, kv.size(), kv.rows()};
  AttentionResult result;
  if (weights)
    result = multi_head_attention_with_weights(q, cached, heads_, options);
  else
    result.output = multi_head_attention(q, cached, heads_, options);
  result.output = output(result.output);
  return result;
}

Tensor MultiHeadAttention::forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Projections p = project_all(q, k, v, {});
  return attend(p.queries, {p.keys, p.values}, add_window(mask, 0), false).output;
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Mask& mask, const Positions& positions) {
  const Projections p = project_all(x, x, x, positions);
  return attend(p.queries, {p.keys, p.values}, add_window(mask, 0), false).output;
}

AttentionResult MultiHeadAttention::with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Projections p = project_all(q, k, v, {});
  return attend(p.queries, {p.keys, p.values}, add_window(mask, 0), true);
}

Tensor MultiHeadAttention::forward_cached(const Tensor& x, KeyValueCache& cache, const Mask& mask,
                                          const Positions& positions) {
  const Positions here = positions.or_starting_at(cache.length());
  const Projections p = project_all(x, x, x, here);
  if (window_) cache.evict_before(window_->left);
  const int64_t gone = cache.length() - cache.size(), past = cache.size();
  cache.append(p.keys, p.values);
  const Mask seen = add_window(Mask::causal(past) & mask.slice_keys(gone), past);
  return attend(p.queries, cache, seen, false).output;
}

double MultiHeadAttention::scale() const { return scale_.value_or(1 / std::sqrt(static_cast<double>(head_width_))); }

KeyValueCache MultiHeadAttention::project(const Tensor& memory) {
  const Tensor keys = key(memory), values = value(memory);
  return {normalize_and_rotate(keys, key_norm, {}), values};
}

Tensor MultiHeadAttention::forward_projected(const Tensor& q, const KeyValueCache& memory, const Mask& mask) {
  if (window_) raise(ErrorKind::config, "MultiHeadAttention: a window cannot be used with a projected memory");
  const Tensor queries = normalize_and_rotate(query(q), query_norm, {});
  const int64_t rows = q.size(0), sources = memory.key.size(0), length = q.size(1);
  if (rows == sources || sources == 0 || rows % sources != 0) return attend(queries, memory, mask, false).output;
  // The G query rows of one memory row are packed side by side, so that the memory is not repeated.
  const Tensor beside = reshape(queries, Shape{sources, rows / sources * length, heads_ * head_width_});
  return reshape(attend(beside, memory, mask, false).output, Shape{rows, length, d_model_});
}

std::string MultiHeadAttention::settings() const {
  return fmt::format("{}, {} heads{}{}{}{}{}", d_model_, heads_,
                     heads_ * head_width_ != d_model_ ? fmt::format(" of width {}", head_width_) : "",
                     kv_heads_ != heads_ ? fmt::format(", {} kv heads", kv_heads_) : "",
                     window_ ? fmt::format(", window from {} before to {} after", window_->left, window_->right) : "",
                     scale_ ? fmt::format(", scale {}", *scale_) : "",
                     dropout_ > 0 ? fmt::format(", dropout {}", dropout_) : "");
}

}  // namespace tape::nn
