#include "base/module_path.h"

#include <algorithm>

namespace tape {
namespace {

bool is_number(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Glob match: each * first matches as few characters as possible and grows on backtracking.
bool is_like(std::string_view text, std::string_view pattern) {
  size_t star = std::string_view::npos, taken = 0, p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

std::vector<std::string_view> split_module_path(std::string_view path) {
  std::vector<std::string_view> names;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (is_number(name) && !names.empty())
      names.back() = {names.back().data(), names.back().size() + 1 + name.size()};
    else
      names.push_back(name);
    begin = end + 1;
  }
  return names;
}

std::vector<std::string_view> enclosing_modules(std::string_view path) {
  std::vector<std::string_view> modules = split_module_path(path);
  for (std::string_view& name : modules)
    name = path.substr(0, static_cast<size_t>(name.data() + name.size() - path.data()));
  return modules;
}

bool is_in_module(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

bool matches_pattern(std::string_view path, std::string_view pattern) {
  if (is_like(path, pattern)) return true;
  const std::vector<std::string_view> modules = enclosing_modules(path);
  return std::any_of(modules.begin(), modules.end(), [&](std::string_view m) { return is_like(m, pattern); });
}

}  // namespace tape
