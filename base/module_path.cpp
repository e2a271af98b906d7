#include "base/module_path.h"

#include <algorithm>

namespace tape {
namespace {

bool is_number(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
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

std::vector<std::string_view> modules_around(std::string_view path) {
  std::vector<std::string_view> modules = split_module_path(path);
  for (std::string_view& name : modules)
    name = path.substr(0, static_cast<size_t>(name.data() + name.size() - path.data()));
  return modules;
}

bool lies_in(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

}  // namespace tape
