#pragma once

#include <string>

#include "../../text/tokenizers/tokenizer.h"

namespace tape::models {

/// Throws Error (config) `folder: the tokenizer has 9000 tokens, but the model has 8000 (key)` if the model's
/// vocabulary, which is `vocab` under the key in config.json, is smaller than the tokenizer's.
void check_tokenizer_fits(const std::string& folder, const text::Tokenizer& tokenizer, const char* key, int64_t vocab);

}  // namespace tape::models
