#pragma once

#include "../../autograd/mask.h"
#include "../module/child.h"

namespace tape::nn {

/// Whether later keys have buckets of their own, as in an encoder, or share that of distance 0, as in a causal decoder
/// (which hides them).
enum class RelativeDirection { both, past };

struct RelativeBiasOptions {
  int64_t buckets = 32;
  int64_t max_distance = 128;  ///< from here on all distances share the last bucket
  RelativeDirection direction = RelativeDirection::both;
};

/// The bucket of distance d = j - i between query i and key j: n = buckets / 2 for each direction (d > 0 takes the
/// second half) or n = buckets for the past alone; with d then >= 0 and m = n / 2, bucket d where d < m, else
/// min(n - 1, m + floor(log(d / m) / log(max_distance / m) (n - m))).
int64_t relative_bucket(int64_t distance, const RelativeBiasOptions& options = {});

/// Trained biases b[bucket(j - i), h] of the scores of query i and key j in head h (Raffel et al. 2020, "Exploring the
/// limits of transfer learning", 2.1). Layers share one: make it once and give its mask to each of them, whose scores
/// T5 leaves unscaled:
///     MultiHeadAttention(C, H, {.bias = false, .scale = 1})(x, Mask::additive(bias(T, T)))
class RelativeBias : public Layer<RelativeBias> {
 public:
  using Options = RelativeBiasOptions;

  /// Error (config) for fewer than 2 buckets a direction, or a max_distance that they reach without the logarithm.
  explicit RelativeBias(int64_t heads, const RelativeBiasOptions& options = {});
  /// [H, Tq, Tk]; `first` is the position of the first query, the length of the cache.
  Tensor forward(int64_t query_length, int64_t key_length, int64_t first = 0) const;
  std::string settings() const override;
  const RelativeBiasOptions& options() const { return options_; }

  /// `mask` and the bias of `length` queries behind `past` keys, over all of them: of a stack that has a bias; of one
  /// without, which has null, the mask alone.
  static Mask added_to(const Mask& mask, const std::unique_ptr<Child<RelativeBias>>& bias, int64_t length,
                       int64_t past = 0);

  Parameter weight;  ///< [buckets, H], started normal with deviation 0.02

 private:
  RelativeBiasOptions options_;
};

}  // namespace tape::nn
