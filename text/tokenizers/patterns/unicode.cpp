#include "text/tokenizers/patterns/unicode.h"

#include <algorithm>
#include <bitset>
#include <iterator>
#include <memory>

#include <utf8proc.h>

#include "text/tokenizers/patterns/unicode_ranges.h"

namespace tape::text {
namespace {

constexpr char32_t kPoints = 0x110000;

// The blocks of BERT's is_chinese_char.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

bool has_white_space_property(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

uint8_t category_classes(char32_t c) {
  const char* category = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));  // "Lu"
  switch (category[0]) {
    case 'L':
      return kLetter;
    case 'M':
      return category[1] == 'n' ? kAccent | kMark : kMark;
    case 'N':
      return kNumber;
    case 'P':
      return kPunctuation;
    case 'C':
      return category[1] == 'n' || category[1] == 's' ? 0 : kControl;
    default:
      return 0;
  }
}

/// Whether a property that utf8proc has for a character is missing in tokenizers' older tables.
template <size_t N>
bool is_unknown(const unicode_ranges::Range (&ranges)[N], char32_t point) {
  const auto range = std::ranges::lower_bound(ranges, point, {}, &unicode_ranges::Range::last);
  return range != std::end(ranges) && point >= range->first && !range->holds;
}

using Table = std::array<uint8_t, kPoints>;

template <size_t N>
void overrule(Table& table, const unicode_ranges::Range (&ranges)[N], uint8_t bit) {
  for (const auto& range : ranges)
    for (char32_t c = range.first; c <= range.last; ++c)
      table[c] = static_cast<uint8_t>(range.holds ? table[c] | bit : table[c] & ~bit);
}

using Set = std::bitset<kPoints>;

/// The code points for which `holds` returns true, corrected by these ranges.
template <size_t N, class Holds>
std::unique_ptr<const Set> make_set(const unicode_ranges::Range (&ranges)[N], Holds&& holds) {
  auto made = std::make_unique<Set>();
  for (char32_t c = 0; c < kPoints; ++c) (*made)[c] = holds(c);
  for (const auto& range : ranges)
    for (char32_t c = range.first; c <= range.last; ++c) (*made)[c] = range.holds;
  return made;
}

bool is_word_of_utf8proc(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category_classes(c) & (kLetter | kMark)) != 0 || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC;
}

std::unique_ptr<const Table> make_table() {
  auto made = std::make_unique<Table>();
  Table& table = *made;
  for (char32_t c = 0; c < kPoints; ++c) {
    table[c] = category_classes(c);
    if (is_ideograph(c)) table[c] |= kIdeograph;
    if (has_white_space_property(c)) table[c] |= kWhiteSpace;
  }
  overrule(table, unicode_ranges::kControl, kControl);
  overrule(table, unicode_ranges::kPunctuation, kPunctuation);
  overrule(table, unicode_ranges::kAccent, kAccent);
  overrule(table, unicode_ranges::kMark, kMark);
  overrule(table, unicode_ranges::kLetter, kLetter);
  overrule(table, unicode_ranges::kNumber, kNumber);
  return made;
}

}  // namespace

uint8_t wide_char_class(char32_t point) {
  static const Table* const table = make_table().release();  // never destroyed
  return point < kPoints ? (*table)[point] : uint8_t{0};
}

bool is_word_character(char32_t point) {
  if (point < 0x80) return point == '_' || (char_class(point) & (kLetter | kNumber)) != 0;
  static const Set* const words = make_set(unicode_ranges::kWord, is_word_of_utf8proc).release();  // never destroyed
  return point < kPoints && (*words)[point];
}

bool is_numeric(char32_t point) {
  if (point < 0x80) return point >= '0' && point <= '9';
  static const Set* const numbers =  // never destroyed
      make_set(unicode_ranges::kNumeric, [](char32_t c) { return (category_classes(c) & kNumber) != 0; }).release();
  return point < kPoints && (*numbers)[point];
}

char32_t to_lower(char32_t point) {
  if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 0x20 : point;
  if (point == 0x130) return point;
  for (const auto& range : unicode_ranges::kLower)
    if (point >= range.first && point <= range.last)
      return static_cast<char32_t>(static_cast<int32_t>(point) + range.step);
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point)));
}

Decomposition decompose(char32_t point, bool compatibility) {
  std::array<utf8proc_int32_t, 32> buffer;
  int boundary = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  const auto count = is_unknown(unicode_ranges::kDecomposed, point)
                         ? 0
                         : utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), buffer.data(), buffer.size(),
                                                   options, &boundary);
  Decomposition out{.points = {point}, .size = 1};
  if (count < 1 || static_cast<size_t>(count) > out.points.size()) return out;
  out.size = static_cast<size_t>(count);
  for (size_t i = 0; i < out.size; ++i) out.points[i] = static_cast<char32_t>(buffer[i]);
  return out;
}

int combining_class(char32_t point) {
  if (is_unknown(unicode_ranges::kCombining, point)) return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(point))->combining_class;
}

char32_t compose(char32_t first, char32_t second) {
  utf8proc_int32_t pair[2] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  return utf8proc_normalize_utf32(pair, 2, options) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

bool grapheme_break(char32_t before, char32_t after, int32_t& state) {
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before), static_cast<utf8proc_int32_t>(after),
                                          &state);
}

}  // namespace tape::text
