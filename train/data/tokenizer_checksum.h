#pragma once

#include <string>

#include "../../text/tokenizers/tokenizer.h"

namespace tape::train {

/// Identifies what a tokenizer does by the files that it saves, as 16 hexadecimal digits: two with the same tokens may
/// split a text in different ways, or end it with different tokens. Throws Error (io) if no temporary folder can be
/// written.
std::string tokenizer_checksum(const text::Tokenizer& tokenizer);

}  // namespace tape::train
