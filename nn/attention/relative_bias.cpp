#include "nn/attention/relative_bias.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "nn/attention/attention_steps.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

int64_t buckets_a_direction(const RelativeBiasOptions& options) {
  return options.direction == RelativeDirection::both ? options.buckets / 2 : options.buckets;
}

Shape checked_shape(int64_t heads, const RelativeBiasOptions& o) {
  const int64_t buckets = buckets_a_direction(o);
  if (heads < 1) raise(ErrorKind::config, "RelativeBias: the number of heads must be at least 1, got {}", heads);
  if (buckets < 2 || o.max_distance <= buckets / 2)
    raise(ErrorKind::config,
          "RelativeBias: needs at least 2 buckets per direction and a max_distance beyond half of them, got {} and {}",
          buckets, o.max_distance);
  return {o.buckets, heads};
}

}  // namespace

int64_t relative_bucket(int64_t distance, const RelativeBiasOptions& options) {
  const int64_t buckets = buckets_a_direction(options), exact = buckets / 2;
  int64_t start = 0;
  if (options.direction == RelativeDirection::both) {
    if (distance > 0) start = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  if (distance < exact) return start + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(options.max_distance) / static_cast<double>(exact));
  const auto further = static_cast<int64_t>(share * static_cast<double>(buckets - exact));
  return start + std::min(exact + further, buckets - 1);
}

RelativeBias::RelativeBias(int64_t heads, const RelativeBiasOptions& options)
    : weight(this, "weight", empty(checked_shape(heads, options))), options_(options) {
  init::normal_(weight, 0, 0.02);
}

Tensor RelativeBias::forward(int64_t query_length, int64_t key_length, int64_t first) const {
  const Tensor rows = relative_position_rows(
      query_length, key_length, [&](int64_t distance) { return relative_bucket(distance - first, options_); },
      weight.device());
  return permute(embedding(weight, rows), {2, 0, 1});
}

Mask RelativeBias::combine_with(const Mask& mask, const std::unique_ptr<Child<RelativeBias>>& bias, int64_t length,
                                int64_t past) {
  return bias ? mask & Mask::additive((*bias)(length, past + length, past)) : mask;
}

std::string RelativeBias::settings() const {
  return fmt::format("{} heads, {} buckets{}, distances up to {}", weight.size(1), weight.size(0),
                     options_.direction == RelativeDirection::past ? " of the past" : "", options_.max_distance);
}

}  // namespace tape::nn
