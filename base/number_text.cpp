#include "base/number_text.h"

#include <charconv>

#include <fmt/format.h>

namespace tape {

std::string grouped(int64_t number) {
  std::string text = fmt::format("{}", number);
  const int64_t first = number < 0 ? 1 : 0;
  for (int64_t at = std::ssize(text) - 3; at > first; at -= 3) text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

std::string format_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace tape
