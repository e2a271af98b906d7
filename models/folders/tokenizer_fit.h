#pragma once

#include <string>

#include "../../text/tokenizer.h"

namespace tape::models {

/// Throws Error (config) `folder: the tokenizer has 9000 tokens, the model 8000 (key)` where the model of a folder,
/// whose config.json says `vocab` under the key, has no row for each token.
void check_tokenizer_fits(const std::string& folder, const text::Tokenizer& tokenizer, const char* key, int64_t vocab);

}  // namespace tape::models
