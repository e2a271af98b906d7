#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What the readers of corpora share.
namespace tape::text {

/// A count with a comma between thousands: 29,000.
std::string grouped(int64_t n);

/// A count and what was counted: "1 line", "29,000 lines".
std::string counted(int64_t n, std::string_view what);

/// True for a text of nothing but white space.
bool is_empty(std::string_view text);

/// Error (format) with the line, the byte in the line and in the file (all from 1) of the first byte that is no UTF-8.
void check_utf8(std::string_view line, const std::string& file, int64_t number, int64_t line_begin);

}  // namespace tape::text
