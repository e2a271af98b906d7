#pragma once

#include <span>

#include "create.h"

namespace tape {

// Random distributions besides rand, randn, randint and randperm (create.h). They draw from the given generator, or
// else from the sampling stream unless noted. Element i depends only on the generator's seed and its counter + i, so
// the values are the same for any number of threads and on every CPU; f32 values are the f64 values, rounded. No result
// has a gradient. Throw Error (dtype) for dtypes other than f32 and f64.

/// 1 with probability p for each element, else 0: u < p for uniform u. p of any shape -> the same shape and dtype.
/// Throws Error (numeric), such as `bernoulli: probability 1.5 at position [0, 2] is outside [0, 1]`.
Tensor bernoulli(const Tensor& p, Generator& stream = generator(Stream::sampling));

/// Exponential distribution with density rate e^(-rate x): -log(u) / rate for uniform u; never 0. Throws Error (config)
/// unless rate is above 0 and finite.
Tensor exponential(const Shape& shape, double rate = 1, const TensorOptions& options = {},
                   Generator& stream = generator(Stream::sampling));

/// Standard Gumbel distribution: -log(-log u) for uniform u. The argmax of log weight + gumbel is a category drawn in
/// proportion to the weights (Maddison et al. 2014, "A* Sampling", 2).
Tensor gumbel(const Shape& shape, const TensorOptions& options = {}, Generator& stream = generator(Stream::sampling));

/// Options of truncated_normal().
struct TruncatedNormalOptions {
  double mean = 0;    ///< before truncation; finite
  double stddev = 1;  ///< before truncation; above 0
  double low = -2;    ///< lower bound, not a multiple of stddev
  double high = 2;    ///< upper bound, likewise
};
/// Normal distribution truncated to [low, high], by inverse transform sampling. mean and stddev are those before
/// truncation. Draws from the init stream unless a generator is given. Throws Error (config) unless mean is finite,
/// stddev is above 0 and low is below high, and if the interval has no probability mass.
Tensor truncated_normal(const Shape& shape, const TruncatedNormalOptions& options = {}, const TensorOptions& made = {},
                        Generator& stream = generator(Stream::init));

/// Options of multinomial().
struct MultinomialOptions {
  bool replacement = false;  ///< whether a category may be drawn more than once
};
/// Draws `count` categories in proportion to their weights: weights [V] -> [count], [B, V] -> [B, count], i64. The
/// weights of a row need not sum to 1. With replacement, a uniform value is looked up in the cumulative weights.
/// Without, the categories with the smallest e / weight for exponential e are returned, smallest first, which is
/// equivalent to drawing them one by one from the remaining ones (Efraimidis and Spirakis 2006).
///
/// Throws Error (shape) for other shapes, (numeric) for a negative or non-finite weight or a row of zeros, (config) if
/// count is below 1 or, without replacement, exceeds the number of weights above 0.
Tensor multinomial(const Tensor& weights, int64_t count, const MultinomialOptions& options = {},
                   Generator& stream = generator(Stream::sampling));

/// A categorical distribution: maps a uniform value in [0, 1) to a category. Weights must not be negative or all 0.
class CategoricalSampler {
 public:
  /// Sums up the weights, which need not add up to 1. They are not checked.
  explicit CategoricalSampler(std::span<const double> weights);
  /// The index of the weight in whose share of [0, 1) `uniform` lies, by binary search; never one with weight 0.
  int64_t at(double uniform) const;

 private:
  std::vector<double> ends_;  ///< cumulative weights
  int64_t last_ = 0;          ///< last category with a weight above 0
};

}  // namespace tape
