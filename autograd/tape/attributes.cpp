#include "autograd/tape/attributes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tape {
namespace {

AttributeValue owned(const AttributeRef::Value& value) {
  return std::visit(
      [](const auto& held) -> AttributeValue {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::span<const int64_t>>)
          return std::vector<int64_t>(held.begin(), held.end());
        else if constexpr (std::is_same_v<T, std::string_view>)
          return std::string(held);
        else if constexpr (std::is_same_v<T, std::monostate>)
          return false;
        else
          return held;
      },
      value);
}

}  // namespace

Attributes::Attributes(AttributeList list) {
  all_.reserve(list.size());
  for (const AttributeRef& attribute : list)
    if (!std::holds_alternative<std::monostate>(attribute.value))
      all_.push_back({attribute.name, owned(attribute.value)});
}

const AttributeValue* Attributes::find(std::string_view name) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Attribute& a) { return a.name == name; });
  return found == all_.end() ? nullptr : &found->value;
}

std::string to_string(const AttributeValue& value) {
  return std::visit(
      [](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          return fmt::format("[{}]", fmt::join(held, ", "));
        else if constexpr (std::is_same_v<T, double>)
          return fmt::format("{:.6g}", held);
        else
          return fmt::format("{}", held);
      },
      value);
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    if (const bool* flag = std::get_if<bool>(&value); !flag || *flag)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, to_string(value));
  return text;
}

}  // namespace tape
