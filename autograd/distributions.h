#pragma once

#include <span>

#include "create.h"

namespace tape {

// Random draws besides rand, randn, randint and randperm (create.h): from the given stream, or the sampling stream
// unless another is named. Element i depends on the stream's seed and its counter + i alone, so that the values are the
// same for any number of threads, on every CPU; those of f32 are those of f64, rounded. Nothing has a gradient. Error
// (dtype) for others than f32 and f64.

/// 1 with the probability p of each element, else 0: u < p of a uniform number u. p of any shape -> the same shape and
/// dtype. Error (numeric) `bernoulli: probability 1.5 at position [0, 2] is outside [0, 1]`.
Tensor bernoulli(const Tensor& p, Generator& stream = generator(Stream::sampling));

/// With density rate e^(-rate x): -log(u) / rate of a uniform number u; never 0. Error (config) unless rate is above 0
/// and finite.
Tensor exponential(const Shape& shape, double rate = 1, DType dtype = f32,
                   Generator& stream = generator(Stream::sampling));

/// The standard Gumbel distribution, of the largest of many: -log(-log u) of a uniform number u. The category with the
/// largest log weight + gumbel is drawn in proportion to the weights (Maddison et al. 2014, "A* Sampling", 2).
Tensor gumbel(const Shape& shape, DType dtype = f32, Generator& stream = generator(Stream::sampling));

struct TruncatedNormalOptions {
  double mean = 0;
  double stddev = 1;
  double low = -2;  ///< in the values' own unit, not in deviations
  double high = 2;
};
/// Normal, conditioned on lying in [low, high]: the inverse of the distribution function, of a uniform number between
/// that function's values at the two ends. mean and stddev are those before the ends are cut off. The init stream draws
/// unless a generator is given. Error (config) unless mean is finite, stddev above 0 and low below high, and where
/// nothing lies between them.
Tensor truncated_normal(const Shape& shape, const TruncatedNormalOptions& options = {}, DType dtype = f32,
                        Generator& stream = generator(Stream::init));

struct MultinomialOptions {
  bool replacement = false;  ///< whether a category may be drawn again
};
/// `count` categories, i64, each drawn in proportion to its weight: weights [V] -> [count], [B, V] -> [B, count]. The
/// weights of a row need not add up to 1. With replacement a category is where a uniform number falls among the sums of
/// weights up to each; without, the categories are those with the least e / weight of exponential numbers e, least
/// first, which is as if each were drawn from what the ones before it left (Efraimidis and Spirakis 2006).
///
/// Error (shape) for other shapes, (numeric) for a weight that is negative or not finite and a row of zeros, (config)
/// for a count below 1, and for more draws without replacement than weights above 0.
Tensor multinomial(const Tensor& weights, int64_t count, const MultinomialOptions& options = {},
                   Generator& stream = generator(Stream::sampling));

/// Categories with weights, drawn from by a uniform number: the one whose part of [0, 1) it falls into. Weights are not
/// negative, and not all 0.
class Categories {
 public:
  explicit Categories(std::span<const double> weights);
  int64_t at(double uniform) const;

 private:
  std::vector<double> ends_;  ///< sums of the weights up to each category
  int64_t last_ = 0;          ///< of those with a weight
};

}  // namespace tape
