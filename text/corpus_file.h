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

/// Error (format) with the line, the byte in the line and in the file (all from 1) of the first byte that is no UTF-8.
void check_utf8(std::string_view line, const std::string& file, int64_t number, int64_t line_begin);

}  // namespace tape::text
