#include "models/gguf/names.h"

#include <charconv>
#include <concepts>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

namespace tape::models {

GgufEntries::GgufEntries(const std::map<std::string, GgufValue>& entries, std::string where)
    : entries_(entries), where_(std::move(where)) {}

const GgufValue* GgufEntries::find(const std::string& key, bool optional) const {
  asked_.insert(key);
  const auto found = entries_.find(key);
  if (found != entries_.end()) return &found->second;
  if (!optional) raise(ErrorKind::format, "{}: \"{}\" is missing", where_, key);
  return nullptr;
}

void GgufEntries::wrong(const std::string& key, const char* needed) const {
  raise(ErrorKind::format, "{}: \"{}\" is not {}", where_, key, needed);
}

int64_t GgufEntries::whole(const std::string& key, std::optional<int64_t> otherwise) const {
  const GgufValue* value = find(key, otherwise.has_value());
  if (!value) return *otherwise;
  return std::visit(
      [&]<class T>(const T& given) -> int64_t {
        if constexpr (std::integral<T> && !std::same_as<T, bool>) {
          if (std::in_range<int32_t>(given) && given >= 0) return static_cast<int64_t>(given);
        }
        wrong(key, "an integer from 0 to 2147483647");
      },
      *value);
}

double GgufEntries::number(const std::string& key, std::optional<double> otherwise) const {
  const GgufValue* value = find(key, otherwise.has_value());
  if (!value) return *otherwise;
  if (const auto* wide = std::get_if<double>(value)) return *wide;
  const auto* given = std::get_if<float>(value);
  if (!given) wrong(key, "a number");
  const std::string shortest = fmt::format("{}", *given);
  double result = 0;
  std::from_chars(shortest.data(), shortest.data() + shortest.size(), result);
  return result;
}

template <class T>
T GgufEntries::typed(const std::string& key, const std::optional<T>& otherwise, const char* needed) const {
  const GgufValue* value = find(key, otherwise.has_value());
  if (!value) return *otherwise;
  const T* given = std::get_if<T>(value);
  if (!given) wrong(key, needed);
  return *given;
}

bool GgufEntries::flag(const std::string& key, std::optional<bool> otherwise) const {
  return typed(key, otherwise, "true or false");
}

std::string GgufEntries::text(const std::string& key, std::optional<std::string> otherwise) const {
  return typed(key, otherwise, "a string");
}

template <class T>
const std::vector<T>& GgufEntries::list(const std::string& key) const {
  const auto* given = std::get_if<std::vector<T>>(find(key, false));
  if (!given) wrong(key, std::same_as<T, std::string> ? "a list of strings" : "a list of numbers");
  return *given;
}
template const std::vector<std::string>& GgufEntries::list(const std::string&) const;
template const std::vector<float>& GgufEntries::list(const std::string&) const;
template const std::vector<int32_t>& GgufEntries::list(const std::string&) const;

std::optional<double> GgufEntries::peek(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return std::visit(
      []<class T>(const T& given) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<T>)
          return static_cast<double>(given);
        else
          return std::nullopt;
      },
      found->second);
}

void GgufEntries::refuse_others(const std::string& prefix) const {
  for (const auto& [key, value] : entries_)
    if (key.starts_with(prefix) && !asked_.contains(key))
      raise(ErrorKind::config, "{}: \"{}\" requests an unsupported computation", where_, key);
}

}  // namespace tape::models
