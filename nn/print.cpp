#include <ostream>

#include "nn/module.h"

namespace tape::nn {
namespace {

/// 1234567 as "1,234,567".
std::string grouped(int64_t count) {
  const std::string digits = std::to_string(count);
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

std::string indented(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace

std::string to_string(const Module& module) {
  std::string children;
  const auto& entries = module.entries_;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].child) continue;
    const std::string& name = entries[i].name;
    const std::string described = to_string(*entries[i].child);
    // Layers of one list that look alike are shown once: "(layers.0-5): 6 x EncoderLayer(...)".
    const size_t dot = name.rfind('.');
    size_t last = i;
    while (dot != std::string::npos && last + 1 < entries.size() && entries[last + 1].child &&
           entries[last + 1].name.compare(0, dot + 1, name, 0, dot + 1) == 0 &&
           to_string(*entries[last + 1].child) == described)
      ++last;
    const std::string range = last == i ? name : fmt::format("{}-{}", name, entries[last].name.substr(dot + 1));
    const std::string times = last == i ? "" : fmt::format("{} x ", last - i + 1);
    children += fmt::format("\n  ({}): {}{}", range, times, indented(described));
    i = last;
  }
  std::string text =
      fmt::format("{}({}{}{})", module.type_name(), module.settings(), children, children.empty() ? "" : "\n");
  if (module.name().empty()) {
    const int64_t all = module.parameter_count(), frozen = all - module.trainable_parameter_count();
    text += fmt::format("\n{} parameters", grouped(all));
    if (frozen > 0) text += fmt::format(", {} of them frozen", grouped(frozen));
  }
  return text;
}

std::ostream& operator<<(std::ostream& stream, const Module& module) { return stream << to_string(module); }

}  // namespace tape::nn
