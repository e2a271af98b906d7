#pragma once

#include "../runtime/common/finding.h"
#include "../runtime/common/isa.h"
#include "common/token_choice.h"

namespace tape::kernels {

/// Choice of tokens on a GPU, without waiting for it. The CPU's entries are missing: there, texts are on the host, and
/// next_token() of models/decoding/sampling.h chooses.
template <class T>
struct TokenKernels {
  /// Chooses the next token of each row, kNoToken with a finding `number` (BadScore) for scores that cannot be sampled.
  /// Probabilities are added as multiples of 2^-62, in any order with the same result.
  void (*choose)(const TokenChoice& how, const TokenRows<T>& rows, int64_t number, Finding* finding);
};
TAPE_COMMON_KERNEL_TABLE(TokenKernels, tokens)
}  // namespace tape::kernels
