#include "base/short_list.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace tape {

std::string short_list(const std::vector<std::string>& entries, std::string_view separator) {
  constexpr size_t kMost = 10;
  constexpr int64_t kColumns = 180;
  if (entries.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < std::min(entries.size(), kMost); ++i) {
    if (i > 0) text += separator;
    text += clipped(entries[i], kColumns);
  }
  if (entries.size() > kMost)
    fmt::format_to(std::back_inserter(text), "{}and {} more", separator, entries.size() - kMost);
  return text;
}

}  // namespace tape
