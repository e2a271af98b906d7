#pragma once

#include <span>
#include <utility>
#include <vector>

#include "../../autograd/tensor.h"

namespace tape::models {

/// Places (source, target) of the tokens that belong together, as tools for word alignments write them: for each token
/// of a translation the one of the source that it looked at most, by Translation::alignment [T, S]. Places of the
/// source count ordinary tokens alone, those whose special_tokens_mask (one a column) is 0; a token that looked at a
/// special one has no pair. Error (shape) where the mask does not fit.
std::vector<std::pair<int64_t, int64_t>> aligned_tokens(const Tensor& alignment,
                                                        std::span<const uint8_t> special_tokens_mask);

}  // namespace tape::models
