#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What the readers of corpora share.
namespace tape::text {

/// True for a text of nothing but white space.
bool is_empty(std::string_view text);

/// Error (format) with the line, the byte in the line and in the file (all from 1) of the first byte that is no UTF-8.
void check_utf8(std::string_view line, const std::string& file, int64_t number, int64_t line_begin);

}  // namespace tape::text
