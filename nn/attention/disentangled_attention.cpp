#include "nn/attention/disentangled_attention.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "base/check.h"
#include "nn/attention/attention_steps.h"

namespace tape::nn {

int64_t distance_bucket(int64_t distance, int64_t buckets, int64_t max_distance) {
  if (buckets < 2 || max_distance <= buckets / 2 + 1)
    raise(ErrorKind::config, "distance_bucket: needs buckets >= 2 and buckets / 2 < max_distance - 1, got {} and {}",
          buckets, max_distance);
  const int64_t middle = buckets / 2, far = std::abs(distance);
  if (far <= middle) return distance;
  const auto m = static_cast<double>(middle);
  const double share = std::log(static_cast<double>(far) / m) / std::log(static_cast<double>(max_distance - 1) / m);
  const int64_t bucket = middle + static_cast<int64_t>(std::ceil(share * (m - 1)));
  return distance < 0 ? -bucket : bucket;
}

DisentangledAttention::DisentangledAttention(int64_t d_model, int64_t heads,
                                             const DisentangledAttentionOptions& options)
    : query(this, "query", check_d_model("DisentangledAttention", d_model, heads), d_model),
      key(this, "key", d_model, d_model),
      value(this, "value", d_model, d_model),
      output(this, "output", d_model, d_model),
      heads_(heads),
      options_(options) {
  check_at_least_one("DisentangledAttention", {{"max_distance", options.max_distance}});
  check_dropout("DisentangledAttention", options.dropout);
  if (options.buckets != 0) distance_bucket(0, options.buckets, options.max_distance);
  if (has_content_to_position(options.terms) && !options.share_projections)
    position_key = std::make_unique<Child<Linear>>(this, "position_key", d_model, d_model);
  if (has_position_to_content(options.terms) && !options.share_projections)
    position_query = std::make_unique<Child<Linear>>(this, "position_query", d_model, d_model);
  if (options.position_dropout != 0)
    position_dropout = std::make_unique<Child<Dropout>>(this, "position_dropout", options.position_dropout);
  const int64_t terms =
      1 + (has_content_to_position(options.terms) ? 1 : 0) + (has_position_to_content(options.terms) ? 1 : 0);
  const int64_t head_width = d_model / heads;
  scale_ = 1 / std::sqrt(static_cast<double>(terms * head_width));
}

int64_t DisentangledAttention::row_of(int64_t distance) const {
  const int64_t k = options_.distances();
  const int64_t bucket =
      options_.buckets > 0 ? distance_bucket(-distance, k, options_.max_distance) : -distance;  // odd: i - j
  return std::clamp<int64_t>(k + bucket, 0, 2 * k - 1);
}

/// Returns the two position terms, [B, H, Tq, Tk]: products with all 2k rows, from which each pair gathers its own.
Tensor DisentangledAttention::position_scores(const Tensor& queries, const Tensor& keys, const Tensor& positions) {
  const int64_t batch = queries.size(0), Tq = queries.size(1), Tk = keys.size(1), k = options_.distances();
  const Tensor rows = relative_position_rows(
      Tq, Tk, [this](int64_t distance) { return row_of(distance); }, queries.device());
  const Tensor given = position_dropout ? (*position_dropout)(positions) : positions;
  const auto products = [&](const Tensor& contents, const std::unique_ptr<Child<Linear>>& own, Child<Linear>& shared) {
    const Tensor projected = reshape(own ? (*own)(given) : shared(given), Shape{1, 2 * k, query->weight.size(0)});
    return matmul(split_heads(contents, heads_), split_heads(projected, heads_), {.transpose_b = true});
  };
  Tensor scores;
  if (has_content_to_position(options_.terms))
    scores = gather(products(queries, position_key, key), -1, expand(rows, {batch, heads_, Tq, Tk}));
  if (has_position_to_content(options_.terms)) {
    const Tensor of_keys = expand(transpose(rows), {batch, heads_, Tk, Tq});
    const Tensor to_content = transpose(gather(products(keys, position_query, query), -1, of_keys));
    scores = scores.defined() ? scores + to_content : to_content;
  }
  return scores;
}

AttentionResult DisentangledAttention::with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                    const Tensor& positions, const Mask& mask) {
  const int64_t rows = 2 * options_.distances();
  if (!positions.defined() || positions.rank() != 2 || positions.size(0) != rows)
    raise(ErrorKind::shape, "DisentangledAttention: positions must be [{}, C], got {}", rows,
          positions.defined() ? to_string(positions.shape()) : "none");
  const Tensor queries = query(q), keys = key(k), values = value(v);
  const Tensor added = position_scores(queries, keys, positions) * scale_;
  AttentionResult result = multi_head_attention_with_weights(
      queries, keys, values, heads_,
      {.mask = mask & Mask::additive(added), .dropout = is_training() ? options_.dropout : 0, .scale = scale_});
  result.output = output(result.output);
  return result;
}

std::string DisentangledAttention::settings() const {
  return fmt::format("{}, {} heads, distances up to {}{}{}{}", query->weight.size(1), heads_, options_.max_distance,
                     options_.buckets > 0 ? fmt::format(" in {} buckets", options_.buckets) : "",
                     options_.share_projections ? ", shared projections" : "",
                     options_.dropout > 0 ? fmt::format(", dropout {}", options_.dropout) : "");
}

}  // namespace tape::nn
