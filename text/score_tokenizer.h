#pragma once

#include <string>
#include <string_view>

#include "bleu.h"

namespace tape::text {

/// The text with white space around every word of a BLEU tokenizer.
std::u32string separate_words(std::u32string_view text, BleuTokenizer tokenizer);

/// The name in a signature: "13a", "none", "intl", "char".
std::string_view name_of(BleuTokenizer tokenizer);

}  // namespace tape::text
