#pragma once

#include <string>
#include <string_view>

namespace tape::text {

/// A regular expression of tokenizer.json (Oniguruma's, with Ruby's syntax) written for PCRE2, to be compiled with
/// PCRE2_UTF and PCRE2_MULTILINE and the newline LF. Where both read the same text otherwise, what is written means
/// what Oniguruma reads: classes are written as their code points, `(?m)` lets the dot match line ends, `{1,3}+`
/// repeats,
/// `(?i)` ends with its group. Groups capture nothing. Error (format) `where: the regular expression "...": ...` for
/// what is malformed or not supported: references to groups, \R, \X, \K, \G, `(?x)`, POSIX brackets of letters.
std::string pattern_for_pcre2(std::string_view expression, const std::string& where);

}  // namespace tape::text
