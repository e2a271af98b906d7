#pragma once

#include "../../random.h"
#include "../../tensor.h"

namespace tape {

/// Each value of x is zeroed with probability p, the others are divided by 1 - p (Srivastava et al. 2014). Nothing is
/// stored: the draws come from (seed, counter) alone and are made again in the backward. x of any shape, f32 or f64 ->
/// the same shape; x itself where p is 0. It always drops: nn::Dropout stops in evaluation. The dropout stream draws
/// unless a generator is given. Error (config) unless 0 <= p < 1, (dtype) for i64 and bool.
Tensor dropout(const Tensor& x, double p);
Tensor dropout(const Tensor& x, double p, Generator& generator);
/// The same with the draws given: element i uses draw counter + i of the seed.
Tensor dropout_at(const Tensor& x, double p, uint64_t seed, uint64_t counter);

}  // namespace tape
