#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tape {

struct CodePoint {
  char32_t value;
  uint32_t length;  ///< bytes
  bool valid;       ///< false: the bytes are the longest part of a broken sequence, and the value is U+FFFD
};

/// What decode_utf8() does where the first byte is not ASCII.
CodePoint decode_multibyte(std::string_view text);

/// The code point at the start of a text that is not empty. Broken bytes are cut as Python's `errors="replace"` does.
inline CodePoint decode_utf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  return decode_multibyte(text);
}

void append_utf8(char32_t point, std::string& to);

/// The text with every broken sequence replaced by U+FFFD.
std::string replace_broken_utf8(std::string_view text);

/// The code points of a text, each as its own UTF-8 string.
///
/// A byte that belongs to no valid sequence comes back alone, so that joining the pieces gives the text again.
std::vector<std::string_view> code_points(std::string_view text);

/// Where the first byte that begins no valid sequence stands: a cut or overlong one, a surrogate, above U+10FFFF.
std::optional<size_t> first_invalid_utf8(std::string_view text);
inline bool valid_utf8(std::string_view text) { return !first_invalid_utf8(text); }

/// A to Z and a to z.
inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The text without these characters at its ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n");

/// Columns that the text takes in a terminal, as clipped() shows it: 2 for a wide character (most of Chinese, Japanese
/// and Korean, emoji), 0 for a combining one.
int64_t display_width(std::string_view text);

/// The text made safe for a terminal and cut to `columns`, with "…" at the end where it was cut.
///
/// Control characters and broken bytes become U+FFFD: a label can neither move the cursor nor break a line.
std::string clipped(std::string_view text, int64_t columns);

}  // namespace tape
