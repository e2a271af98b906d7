#include "text/corpus/label_names.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"

namespace tape::text {
namespace {

std::optional<uint64_t> parse_uint(std::string_view text) {
  uint64_t value = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> sorted_names(std::vector<std::string> names) {
  std::ranges::sort(names);
  // "01" and "1" have the same value: keep their order by bytes.
  if (std::ranges::all_of(names, [](const std::string& name) { return parse_uint(name).has_value(); }))
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return *parse_uint(name); });
  return names;
}

/// The first names, for a message.
std::string listed(std::span<const std::string> names) {
  constexpr size_t kShown = 10;
  std::string out;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kShown) out += fmt::format(", ... ({} in total)", names.size());
  return out;
}

}  // namespace

int64_t LabelEncoder::add_label(std::string_view label, int64_t line) {
  const auto [place, fresh] = places_.try_emplace(std::string(label), std::ssize(names_));
  if (fresh) {
    names_.emplace_back(label);
    lines_.push_back(line);
  }
  return place->second;
}

LabelEncoder::Final LabelEncoder::finish(LabelNames known) const {
  Final all{.numbers = {}, .names = known ? std::vector(known->begin(), known->end()) : sorted_names(names_)};
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto found = std::ranges::find(all.names, names_[i]);
    if (found == all.names.end())
      raise(ErrorKind::format, "{}: line {}: unknown label \"{}\"; known labels: {}", file_, lines_[i], names_[i],
            listed(all.names));
    all.numbers.push_back(found - all.names.begin());
  }
  return all;
}

}  // namespace tape::text
