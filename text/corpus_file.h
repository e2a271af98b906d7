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

/// Error (format) for a record of more than 64 MiB, which is no record: a quote is open, or the file is of another
/// kind.
void check_record_size(size_t bytes, const std::string& file, int64_t line);

/// "a.csv: 2 empty lines skipped"
std::string empty_lines_note(const std::string& file, int64_t lines);

}  // namespace tape::text
