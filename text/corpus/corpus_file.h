#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Helpers shared by the corpus readers.
namespace tape::text {

/// Whether a text has only white space.
bool is_empty(std::string_view text);

/// Throws Error (format) if the content is UTF-16: it begins with a UTF-16 byte order mark, or has NUL bytes only at
/// even or only at odd positions, as UTF-16 spaces and line ends do in any script.
void check_not_utf16(std::string_view content, const std::string& file);

}  // namespace tape::text
