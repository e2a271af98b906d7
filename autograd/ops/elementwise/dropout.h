#pragma once

#include "../../random.h"
#include "../../tensor.h"

namespace tape {

/// Zeroes each value of x with probability p and divides the others by 1 - p (Srivastava et al. 2014). x of any shape,
/// f32 or f64 -> the same shape; x itself if p is 0. No mask is stored: draws depend only on (seed, counter), and the
/// backward pass repeats them. Uses the dropout stream unless a generator is given. Always drops; nn::Dropout is
/// inactive in evaluation mode. Error (config) unless 0 <= p < 1, (dtype) for i64 and bool.
/// @{
Tensor dropout(const Tensor& x, double p);
Tensor dropout(const Tensor& x, double p, Generator& generator);
/// @}
/// Dropout with given draws: element i uses draw counter + i of the seed.
Tensor seeded_dropout(const Tensor& x, double p, uint64_t seed, uint64_t counter);

}  // namespace tape
