#include "base/utf8.h"

#include <algorithm>

namespace tape {
namespace {

// Bytes of the valid sequence at the start of a text that is not empty, 0 when there is none (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  // The second byte's range keeps out overlong forms, surrogates and what lies above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

// C0 controls, DEL and C1 controls (the latter as U+0080..U+009F, which is C2 80..C2 9F).
bool is_control(std::string_view point) {
  const auto lead = static_cast<unsigned char>(point[0]);
  if (lead < 0x20 || lead == 0x7F) return true;
  return point.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(point[1]) < 0xA0;
}

}  // namespace

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> points;
  points.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(sequence_length(text), 1);
    points.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return points;
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::vector<std::string> display_columns(std::string_view text) {
  std::vector<std::string> columns;
  for (std::string_view point : code_points(text)) {
    columns.emplace_back(is_control(point) || !valid_utf8(point) ? std::string_view("\uFFFD") : point);
  }
  return columns;
}

std::string clipped(std::string_view text, int64_t columns) {
  const std::vector<std::string> cells = display_columns(text);
  const auto limit = static_cast<std::size_t>(columns < 0 ? 0 : columns);
  std::string out;
  for (std::size_t i = 0; i < cells.size() && i < limit; ++i) {
    out += i + 1 == limit && cells.size() > limit ? "…" : cells[i];
  }
  return out;
}

int64_t display_width(std::string_view text) { return static_cast<int64_t>(code_points(text).size()); }

}  // namespace tape
