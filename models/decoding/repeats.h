#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tape::models {

/// The tokens that would end a row of n which stands in `said` already (Paulus et al. 2018, 2.5; transformers'
/// no_repeat_ngram_size), each as often as it does so; none for n = 0.
std::vector<int64_t> repeating_tokens(std::span<const int64_t> said, int64_t n);

}  // namespace tape::models
