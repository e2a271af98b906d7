#pragma once

#include "model.h"

namespace tape::text {

struct UnigramModelOptions {
  int64_t unk_id = -1;  ///< -1: none, and what the vocabulary lacks is left out
  bool byte_fallback = false;
};

/// The most probable split (Kudo 2018); unknown neighbours become one token. `scores`: one log probability a token.
/// Error (format) for an unk_id outside the vocabulary. The vocabulary must outlive the model.
WordModelPtr unigram_model(const TokenTable& vocabulary, std::vector<double> scores, const UnigramModelOptions& options,
                           const std::string& where);

}  // namespace tape::text
