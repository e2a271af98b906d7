#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer.h"

namespace tape::text {

/// What a tokenizer looks for in a text: a text, or a regular expression as tokenizers reads it. Gives the matches in
/// order, none in another; none in an empty text, and no empty one right after another. Broken UTF-8 reads as U+FFFD.
/// Error (format) where an expression takes too many steps: 10^7 and 1,000 a byte, for what it tries and gives back.
using Pattern = std::function<std::vector<Range>(std::string_view text)>;

/// A text as it stands.
Pattern literal_pattern(std::string text);
/// Those of known tokenizers (word_patterns.h) by functions of their own, others by Oniguruma. Error (format)
/// `where: ...` for an expression that is malformed or not supported.
Pattern regular_expression(std::string_view expression, const std::string& where);
/// The same, by Oniguruma whatever the expression is.
Pattern oniguruma_pattern(std::string_view expression, const std::string& where);

}  // namespace tape::text
