#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer.h"

namespace tape::text {

/// A search pattern: a string, or a regular expression with the semantics of tokenizers. Returns non-overlapping
/// matches in order; none in an empty text, and no empty match right after another match. Invalid UTF-8 reads as
/// U+FFFD. Throws Error (format) if a search takes too many steps, backtracking included: 10^7 plus 1,000 per byte.
using Pattern = std::function<std::vector<Range>(std::string_view text)>;

/// Matches a string verbatim.
Pattern literal_pattern(std::string text);
/// Matches a regular expression: those of known tokenizers (word_patterns.h) with dedicated functions, others with
/// Oniguruma. Throws Error (format) `where: ...` for a malformed or unsupported expression.
Pattern regular_expression(std::string_view expression, const std::string& where);
/// Same, always with Oniguruma.
Pattern oniguruma_pattern(std::string_view expression, const std::string& where);

}  // namespace tape::text
