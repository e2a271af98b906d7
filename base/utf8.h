#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape {

/// The code points of a text, each as its own UTF-8 string.
///
/// A byte that belongs to no valid sequence comes back alone, so that joining the pieces gives the text again.
std::vector<std::string_view> code_points(std::string_view text);

/// True when the text is valid UTF-8: no cut or overlong sequence, no surrogate, nothing above U+10FFFF.
bool valid_utf8(std::string_view text);

/// The text as a terminal may show it: one string a column (one code point is taken as one column).
///
/// Control characters and broken bytes become U+FFFD: a label can neither move the cursor nor break a line.
std::vector<std::string> display_columns(std::string_view text);

/// The text made safe for a terminal (see display_columns) and cut to `columns`, the last of them "…" when it was cut.
std::string clipped(std::string_view text, int64_t columns);

/// Columns that the text takes in a terminal.
int64_t display_width(std::string_view text);

}  // namespace tape
