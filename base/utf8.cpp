#include "base/utf8.h"

#include <algorithm>
#include <iterator>

#include "base/character_width_table.h"

namespace tape {
namespace {

/// How a code point or an invalid byte appears in a terminal, and its width in columns.
struct Cell {
  std::string_view shown;
  int64_t width;
};

bool is_control(char32_t value) { return value < 0x20 || (value >= 0x7F && value < 0xA0); }

int width_of(char32_t value) {
  const CharacterWidth* const after =
      std::upper_bound(std::begin(kCharacterWidths), std::end(kCharacterWidths), value,
                       [](char32_t point, const CharacterWidth& entry) { return point < entry.first; });
  return std::prev(after)->width;
}

std::vector<Cell> cells_of(std::string_view text) {
  std::vector<Cell> cells;
  for (const std::string_view point : code_points(text)) {
    const CodePoint decoded = decode_utf8(point);
    if (!decoded.valid || is_control(decoded.value))
      cells.push_back({"\uFFFD", 1});
    else
      cells.push_back({point, width_of(decoded.value)});
  }
  return cells;
}

}  // namespace

// The allowed range of the second byte for each lead byte (Unicode 15, table 3-7) excludes overlong forms, surrogates
// and code points above U+10FFFF. An invalid sequence ends before the first byte that cannot continue it.
CodePoint decode_multibyte(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return {0xFFFD, 1, false};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  char32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {
      low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    }
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {0xFFFD, static_cast<uint32_t>(i), false};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, static_cast<uint32_t>(length), true};
}

void append_utf8(char32_t point, std::string& to) {
  const auto put = [&to](char32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | (point >> 6));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3F));
  } else {
    put(0xF0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3F));
    put(0x80 | ((point >> 6) & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    append_utf8(point.value, out);
    text.remove_prefix(point.length);
  }
  return out;
}

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> points;
  points.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    points.push_back(text.substr(0, point.valid ? point.length : 1));
    text.remove_prefix(points.back().size());
  }
  return points;
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    if (!point.valid) return at;
    at += point.length;
  }
  return {};
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  for (const Cell& cell : cells_of(text)) width += cell.width;
  return width;
}

std::string clipped(std::string_view text, int64_t columns) {
  if (columns <= 0) return "";
  const bool fits = display_width(text) <= columns;
  int64_t room = fits ? columns : columns - 1;  // "…" takes one column
  std::string out;
  for (const Cell& cell : cells_of(text)) {
    room -= cell.width;
    if (room < 0) break;
    out += cell.shown;
  }
  return fits ? out : out + "…";
}

}  // namespace tape
