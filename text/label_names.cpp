#include "text/label_names.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace tape::text {
namespace {

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> sorted_names(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  // "01" and "1" have one value: their order by bytes stays.
  if (std::ranges::all_of(names, [](const std::string& name) { return whole_number(name).has_value(); }))
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return *whole_number(name); });
  return names;
}

/// The first few names, for a message.
std::string listed(std::span<const std::string> names) {
  constexpr size_t kShown = 10;
  std::string out;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kShown) out += fmt::format(", ... ({} in all)", names.size());
  return out;
}

}  // namespace

LabelNumbers::LabelNumbers(LabelNames known, std::vector<std::string> found)
    : names_(known ? std::vector<std::string>(known->begin(), known->end()) : sorted_names(std::move(found))) {}

int64_t LabelNumbers::of(const std::string& label, const std::string& file, int64_t line) const {
  const auto found = std::ranges::find(names_, label);
  if (found == names_.end())
    raise(ErrorKind::format, "{}: line {}: label \"{}\" was not seen in training; known are {}", file, line, label,
          listed(names_));
  return found - names_.begin();
}

int64_t MetLabels::add(std::string_view label, int64_t line) {
  const auto [place, fresh] = places_.try_emplace(std::string(label), std::ssize(names_));
  if (fresh) {
    names_.emplace_back(label);
    lines_.push_back(line);
  }
  return place->second;
}

MetLabels::Numbered MetLabels::finish(LabelNames known) const {
  const LabelNumbers all(known, names_);
  Numbered found{.numbers = {}, .names = all.names()};
  for (size_t i = 0; i < names_.size(); ++i) found.numbers.push_back(all.of(names_[i], file_, lines_[i]));
  return found;
}

}  // namespace tape::text
