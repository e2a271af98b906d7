#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "text/tokenizers/tokenizer.h"

namespace tape::fuzz {

/// Checks invariants of any tokenizer with any text. The tokenizer is saved to `folder`, loaded again and must give the
/// same ids, unless `saved` is false.
void check_tokenizer_invariants(const text::Tokenizer& tokenizer, const std::string& text, const std::string& folder,
                                bool saved = true);

/// Loads a tokenizer from files with these names, whose contents are the parts of the input; the last part is a text.
void fuzz_tokenizer_files(Bytes bytes, std::span<const char* const> names, bool saved = true);

}  // namespace tape::fuzz
