#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../../text/tokenizers/tokenizer.h"

namespace tape::models {

/// Ids of a text that a decoder-only model continues: encode() without the special tokens that the tokenizer adds after
/// the text, except a start token.
std::vector<int64_t> prompt_ids(const text::Tokenizer& tokenizer, std::string_view text);

}  // namespace tape::models
