#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "text/tokenizer.h"

namespace tape::fuzz {

/// What holds of any tokenizer and any text; `folder` is one that is free to write. The tokenizer is saved there,
/// loaded again and must give the same ids, unless `saved` is false.
void expect_tokenizer_promises(const text::Tokenizer& tokenizer, const std::string& text, const std::string& folder,
                               bool saved = true);

/// Reads the tokenizer that the files make, whose names and contents are given; the last part of the input is a text.
void fuzz_tokenizer_files(Bytes bytes, std::span<const char* const> names, bool saved = true);

}  // namespace tape::fuzz
