#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../../autograd/random.h"

namespace tape::models {

/// Sampling options with the order and meaning of transformers' generate(): the repetition penalty, then temperature,
/// top_k, top_p and min_p, each applied to the result of the previous one.
struct SamplingOptions {
  double temperature = 1;         ///< divides the scores; 0: always the likeliest token, the first one if tied
  int64_t top_k = 0;              ///< keeps the k likeliest tokens, including ties with the last; 0: all
  double top_p = 1;               ///< keeps the fewest likeliest tokens that reach this mass (Holtzman et al. 2020)
  double min_p = 0;               ///< keeps tokens with at least min_p times the probability of the likeliest
  double repetition_penalty = 1;  ///< divides the scores of earlier tokens, or multiplies them if negative
};

/// Throws Error (config) naming the invalid option.
void check(const SamplingOptions& options);

/// The distribution that the next token is drawn from: logits [V] and the earlier tokens, including the prompt -> V
/// probabilities, 0 for excluded tokens and logits of -inf. Throws Error (numeric) if a logit is NaN or +inf, or if all
/// are -inf.
std::vector<double> token_probabilities(std::vector<double> logits, std::span<const int64_t> earlier,
                                        const SamplingOptions& options = {});

/// Samples a token from the probabilities, using one uniform draw.
int64_t draw(std::span<const double> probabilities, Generator& draws);

/// draw(token_probabilities(..), draws), or the likeliest token without a draw if the temperature is 0.
int64_t next_token(std::vector<double> logits, std::span<const int64_t> earlier, const SamplingOptions& options,
                   Generator& draws);

}  // namespace tape::models
