#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../../base/utf8.h"
#include "../tokenizer.h"

namespace tape::text {

/// What the rules of tokenizers ask about a code point; the bits of char_class.
enum CharClass : uint8_t {
  kControl = 1,      ///< removed by BERT's cleaning: control, format and private characters, NUL and U+FFFD
  kPunctuation = 2,  ///< a word of its own in BERT: Unicode's P* and every ASCII character that is no letter or digit
  kAccent = 4,       ///< a mark that BERT strips (Mn)
  kIdeograph = 8,    ///< a CJK character that BERT makes a word of its own
  kLetter = 16,      ///< \p{L}
  kNumber = 32,      ///< \p{N}
  kWhiteSpace = 64,  ///< \s: Unicode's White_Space
  kMark = 128,       ///< what the normalizer StripAccents drops (M*)
};

/// Those of ASCII, known when compiling.
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

/// The classes of a code point up to U+10FFFF, as the Python package tokenizers sorts them.
inline uint8_t char_class(char32_t point) { return point < 128 ? kAsciiClasses[point] : wide_char_class(point); }
inline bool is_white_space(char32_t point) { return (char_class(point) & kWhiteSpace) != 0; }

/// `\w` of Rust's `regex`, by which tokenizers finds words: letters, marks, digits, connectors, joiners.
bool is_word_character(char32_t point);
/// Rust's `char::is_numeric`.
bool is_numeric(char32_t point);

/// The bytes from the first to the last character that is no space, [0, 0) where there is none.
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

/// Lower case of one code point. U+0130 has two in Unicode and comes back as it is.
char32_t to_lower(char32_t point);

/// Canonical (NFD) or compatibility (NFKD) decomposition of one code point: 1 to 18 code points.
struct Decomposition {
  std::array<char32_t, 18> points;
  size_t size;
};
Decomposition decompose(char32_t point, bool compatibility = false);

/// Canonical_Combining_Class.
int combining_class(char32_t point);

/// The composed character of a pair, 0 when there is none.
char32_t compose(char32_t first, char32_t second);

/// True when a text may be cut between two code points without cutting what a reader takes for one character; `state`
/// starts at 0 and is carried from pair to pair.
bool grapheme_break(char32_t before, char32_t after, int32_t& state);

}  // namespace tape::text
