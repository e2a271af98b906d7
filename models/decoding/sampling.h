#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../../autograd/random.h"

namespace tape::models {

/// Which of the next tokens may be said, in the order and with the meaning of transformers' generate(): the penalty,
/// then temperature, top_k, top_p and min_p, each on what the one before left.
struct SamplingOptions {
  double temperature = 1;         ///< scores are divided by it; 0: always the likeliest token, the first of equal ones
  int64_t top_k = 0;              ///< only the k likeliest, and what equals the last of them; 0: all
  double top_p = 1;               ///< only the fewest likeliest whose probabilities reach top_p (Holtzman et al. 2020)
  double min_p = 0;               ///< only what has at least min_p times the likeliest one's probability
  double repetition_penalty = 1;  ///< scores of earlier tokens: divided by it, or multiplied where negative
};

/// Error (config) naming the option that does not fit.
void check(const SamplingOptions& options);

/// The distribution that the next token is drawn from: logits [V] and the tokens before, prompt included -> V
/// probabilities, 0 for what may not be said. Logits of -inf are never said. Error (numeric) where a logit is NaN or
/// +inf, or all are -inf.
std::vector<double> token_probabilities(std::vector<double> logits, std::span<const int64_t> earlier,
                                        const SamplingOptions& options = {});

/// The token whose share of [0, 1) a uniform draw falls into. Takes one draw.
int64_t draw(std::span<const double> probabilities, Generator& draws);

/// draw(token_probabilities(..), draws); with temperature 0 the likeliest token, without a draw.
int64_t next_token(std::vector<double> logits, std::span<const int64_t> earlier, const SamplingOptions& options,
                   Generator& draws);

}  // namespace tape::models
