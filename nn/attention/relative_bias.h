#pragma once

#include "../../autograd/mask.h"
#include "../module/child.h"

namespace tape::nn {

/// Whether later keys have their own buckets, as in an encoder, or share the bucket of distance 0, as in a causal
/// decoder (which hides them).
enum class RelativeDirection { both, past };

/// Options of RelativeBias.
struct RelativeBiasOptions {
  int64_t buckets = 32;        ///< number of rows, half of them per direction for RelativeDirection::both
  int64_t max_distance = 128;  ///< distances from here on share the last bucket
  RelativeDirection direction = RelativeDirection::both;  ///< `past` in causal decoders
};

/// Returns the bucket of distance d = j - i between query i and key j. With n = buckets / 2 per direction (d > 0 uses
/// the second half), or n = buckets for the past only, d >= 0 after that and m = n / 2: bucket d if d < m, otherwise
/// min(n - 1, m + floor(log(d / m) / log(max_distance / m) (n - m))).
int64_t relative_bucket(int64_t distance, const RelativeBiasOptions& options = {});

/// Trained biases b[bucket(j - i), h] on the scores of query i and key j in head h (Raffel et al. 2020, "Exploring the
/// limits of transfer learning", section 2.1). Layers share one: create it once and pass its mask to each layer. T5
/// leaves the scores unscaled:
///     MultiHeadAttention(C, H, {.bias = false, .scale = 1})(x, Mask::additive(bias(T, T)))
class RelativeBias : public Layer<RelativeBias> {
 public:
  using Options = RelativeBiasOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for fewer than 2 buckets per direction, or if max_distance is within the linear buckets.
  explicit RelativeBias(int64_t heads, const RelativeBiasOptions& options = {});
  /// Returns [H, Tq, Tk]; `first` is the position of the first query, the length of the cache.
  Tensor forward(int64_t query_length, int64_t key_length, int64_t first = 0) const;
  std::string settings() const override;  ///< as in "8 heads, 32 buckets, distances up to 128"
  /// Returns the options that the constructor was given.
  const RelativeBiasOptions& options() const { return options_; }

  /// Returns `mask` plus the bias of `length` queries that follow `past` keys, over all keys; `mask` itself if the
  /// stack has no bias (`relative_bias` is null).
  static Mask combine_with(const Mask& mask, const std::unique_ptr<Child<RelativeBias>>& bias, int64_t length,
                           int64_t past = 0);

  Parameter weight;  ///< [buckets, H], initialized normally with standard deviation 0.02

 private:
  RelativeBiasOptions options_;
};

}  // namespace tape::nn
