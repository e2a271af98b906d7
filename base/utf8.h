#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tape {

struct CodePoint {
  char32_t value;
  uint32_t length;  ///< in bytes
  bool valid;       ///< false for the longest prefix of an invalid sequence; the value is then U+FFFD
};

/// decode_utf8() for a first byte that is not ASCII.
CodePoint decode_multibyte(std::string_view text);

/// Decodes the first code point of a non-empty text. Invalid bytes are split as by Python's `errors="replace"`.
inline CodePoint decode_utf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  return decode_multibyte(text);
}

void append_utf8(char32_t point, std::string& to);

/// Replaces every invalid sequence with U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

/// Splits a text into code points, each as a UTF-8 string.
///
/// Each byte of an invalid sequence is a piece of its own, so joining the pieces gives the original text.
std::vector<std::string_view> code_points(std::string_view text);

/// Position of the first byte that does not begin a valid sequence: truncated, overlong, a surrogate, or above
/// U+10FFFF.
std::optional<size_t> first_invalid_utf8(std::string_view text);
inline bool valid_utf8(std::string_view text) { return !first_invalid_utf8(text); }

inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Removes the given characters from both ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n");

/// Width of the text in terminal columns, as shown by clipped(): 2 for a wide character (most Chinese, Japanese and
/// Korean characters, emoji), 0 for a combining one.
int64_t display_width(std::string_view text);

/// Makes a text safe for a terminal and cuts it to `columns`, ending in "…" if it was cut.
///
/// Control characters and invalid bytes become U+FFFD, so that a label can neither move the cursor nor break the line.
std::string clipped(std::string_view text, int64_t columns);

}  // namespace tape
