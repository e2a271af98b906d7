#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What the readers of corpora share.
namespace tape::text {

/// True for a text of nothing but white space.
bool is_empty(std::string_view text);

/// Error (format) for the content of a file that is UTF-16: one that begins with its byte order mark, or whose NUL
/// bytes stand in every other place only, as those of blanks and line ends do in any script.
void check_not_utf16(std::string_view content, const std::string& file);

}  // namespace tape::text
