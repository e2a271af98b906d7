#include "nn/disentangled_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/check.h"
#include "autograd/ops/index.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/shape.h"
#include "base/check.h"
#include "nn/attention_steps.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

GradcheckReport check_terms(const Checker& check, PositionTerms terms, const std::string& zero) {
  DisentangledAttention layer(4, 2, {.max_distance = 2, .terms = terms, .dropout = 0.2});
  return check(layer, {sample_normal({2, 4, 4}, 1), sample_normal({4, 4}, 2)}, zero);
}

const ModuleCheck disentangled_both("DisentangledAttention", "both terms",
                                    [](const Checker& check) { return check_terms(check, PositionTerms::both, ""); });
// What is added to all keys alike shifts all scores of a query alike, where keys meet no positions.
const ModuleCheck disentangled_to_position("DisentangledAttention", "content to position", [](const Checker& check) {
  return check_terms(check, PositionTerms::content_to_position, "key.bias");
});
const ModuleCheck disentangled_to_content("DisentangledAttention", "position to content", [](const Checker& check) {
  return check_terms(check, PositionTerms::position_to_content, "");
});

}  // namespace

DisentangledAttention::DisentangledAttention(int64_t d_model, int64_t heads,
                                             const DisentangledAttentionOptions& options)
    : query(this, "query", checked_width("DisentangledAttention", d_model, heads), d_model),
      key(this, "key", d_model, d_model),
      value(this, "value", d_model, d_model),
      output(this, "output", d_model, d_model),
      heads_(heads),
      max_distance_(options.max_distance),
      dropout_(options.dropout) {
  check_at_least_one("DisentangledAttention", {{"max_distance", max_distance_}});
  check_dropout("DisentangledAttention", dropout_);
  if (options.terms != PositionTerms::position_to_content)
    position_key = std::make_unique<Child<Linear>>(this, "position_key", d_model, d_model);
  if (options.terms != PositionTerms::content_to_position)
    position_query = std::make_unique<Child<Linear>>(this, "position_query", d_model, d_model);
  const int64_t terms = 1 + (position_key ? 1 : 0) + (position_query ? 1 : 0);
  const int64_t head_width = d_model / heads;
  scale_ = 1 / std::sqrt(static_cast<double>(terms * head_width));
}

/// The two terms with positions, [B, H, Tq, Tk]: products with all 2k rows, of which each pair picks its own.
Tensor DisentangledAttention::position_scores(const Tensor& queries, const Tensor& keys, const Tensor& positions) {
  const int64_t batch = queries.size(0), Tq = queries.size(1), Tk = keys.size(1), k = max_distance_;
  const Tensor rows =
      rows_by_distance(Tq, Tk, [k](int64_t distance) { return std::clamp<int64_t>(k - distance, 0, 2 * k - 1); });
  const auto products = [&](const Tensor& contents, Child<Linear>& project) {
    const Tensor projected = reshape(project(positions), Shape{1, 2 * k, positions.size(1)});
    return matmul(split_heads(contents, heads_), split_heads(projected, heads_), {.transpose_b = true});
  };
  Tensor scores;
  if (position_key) scores = gather(products(queries, *position_key), -1, expand(rows, {batch, heads_, Tq, Tk}));
  if (position_query) {
    const Tensor of_keys = expand(transpose(rows), {batch, heads_, Tk, Tq});
    const Tensor to_content = transpose(gather(products(keys, *position_query), -1, of_keys));
    scores = scores.defined() ? scores + to_content : to_content;
  }
  return scores;
}

AttentionResult DisentangledAttention::with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                    const Tensor& positions, const Mask& mask) {
  if (positions.rank() != 2 || positions.size(0) != 2 * max_distance_)
    raise(ErrorKind::shape, "DisentangledAttention: positions must be [{}, C], got {}", 2 * max_distance_,
          to_string(positions.shape()));
  const Tensor queries = query(q), keys = key(k), values = value(v);
  const Tensor added = position_scores(queries, keys, positions) * scale_;
  AttentionResult result = multi_head_attention_with_weights(
      queries, keys, values, heads_,
      {.mask = mask & Mask::additive(added), .dropout = is_training() ? dropout_ : 0, .scale = scale_});
  result.output = output(result.output);
  return result;
}

std::string DisentangledAttention::settings() const {
  return fmt::format("{}, {} heads, distances up to {}{}", query->weight.size(1), heads_, max_distance_,
                     dropout_ > 0 ? fmt::format(", dropout {}", dropout_) : "");
}

}  // namespace tape::nn
