#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../../../base/utf8.h"
#include "../tokenizer.h"

namespace tape::text {

/// Properties of a code point as the rules of tokenizers need them; bits of char_class.
enum CharClass : uint8_t {
  kControl = 1,      ///< removed by BERT's cleaning: control, format and private characters, NUL and U+FFFD
  kPunctuation = 2,  ///< a separate word in BERT: Unicode's P* and ASCII characters other than letters and digits
  kAccent = 4,       ///< a mark that BERT strips (Mn)
  kIdeograph = 8,    ///< a CJK character that is a separate word in BERT
  kLetter = 16,      ///< \p{L}
  kNumber = 32,      ///< \p{N}
  kWhiteSpace = 64,  ///< \s: Unicode's White_Space
  kMark = 128,       ///< removed by the normalizer StripAccents (M*)
};

/// ASCII classes, as constants.
inline constexpr std::array<uint8_t, 128> kAsciiClasses = [] {
  std::array<uint8_t, 128> classes{};
  for (size_t c = 0; c < 128; ++c) {
    const bool digit = c >= '0' && c <= '9', letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    uint8_t bits = digit ? kNumber : letter ? kLetter : space ? kWhiteSpace : 0;
    if (c > ' ' && c < 127 && !digit && !letter) bits = kPunctuation;
    if (c == 127 || (c < ' ' && c != '\t' && c != '\n' && c != '\r')) bits |= kControl;
    classes[c] = bits;
  }
  return classes;
}();

uint8_t wide_char_class(char32_t point);

/// Classes of a code point up to U+10FFFF, as in the Python package tokenizers.
inline uint8_t char_class(char32_t point) { return point < 128 ? kAsciiClasses[point] : wide_char_class(point); }
inline bool is_white_space(char32_t point) { return (char_class(point) & kWhiteSpace) != 0; }

/// `\w` of Rust's `regex`, as used by tokenizers: letters, marks, digits, connectors, joiners.
bool is_word_character(char32_t point);
/// Rust's `char::is_numeric`.
bool is_numeric(char32_t point);

/// Bytes from the first to the last character that is not white space, [0, 0) if there is none.
template <class IsSpace>
Range without_spaces(std::string_view text, IsSpace&& is_space) {
  Range out;
  bool inside = false;
  for (uint32_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    if (!is_space(point.value)) out = {inside ? out.begin : at, at + point.length};
    inside = inside || out.end > 0;
    at += point.length;
  }
  return out;
}

/// Lowercase of one code point. U+0130, whose lowercase has two code points, is returned unchanged.
char32_t to_lower(char32_t point);

/// Canonical (NFD) or compatibility (NFKD) decomposition of one code point: 1 to 18 code points.
struct Decomposition {
  std::array<char32_t, 18> points;
  size_t size;
};
Decomposition decompose(char32_t point, bool compatibility = false);

/// Canonical_Combining_Class.
int combining_class(char32_t point);

/// The composition of a pair, 0 if there is none.
char32_t compose(char32_t first, char32_t second);

/// Whether there is a grapheme boundary between two code points; `state` starts at 0 and is passed from pair to pair.
bool grapheme_break(char32_t before, char32_t after, int32_t& state);

}  // namespace tape::text
