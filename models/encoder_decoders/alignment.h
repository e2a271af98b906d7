#pragma once

#include <span>
#include <utility>
#include <vector>

#include "../../autograd/tensor.h"

namespace tape::models {

/// Pairs of (source, target) token indices that belong together, in the form that word alignment tools use: for each
/// token of a translation, the source token with the highest attention in Translation::alignment [T, S]. Source indices
/// count only tokens whose special_tokens_mask (one per column) is 0; a target token that attends most to a special one
/// has no pair. Throws Error (shape) if the mask does not match.
std::vector<std::pair<int64_t, int64_t>> aligned_tokens(const Tensor& alignment,
                                                        std::span<const uint8_t> special_tokens_mask);

}  // namespace tape::models
