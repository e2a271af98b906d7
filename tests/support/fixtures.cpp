#include "tests/support/fixtures.h"

#include <functional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "tests/support/paths.h"

namespace tape {

std::string fixture_path(std::string_view name) { return source_path(fmt::format("tests/fixtures/{}", name)); }

const nlohmann::json& fixture_json(std::string_view name) {
  static std::map<std::string, nlohmann::json, std::less<>> files;
  const auto found = files.find(name);
  if (found != files.end()) return found->second;
  return files.emplace(name, nlohmann::json::parse(read_text(fixture_path(name)))).first->second;
}

const std::map<std::string, Tensor>& fixture_tensors(std::string_view name) {
  static std::map<std::string, std::map<std::string, Tensor>, std::less<>> files;
  const auto found = files.find(name);
  if (found != files.end()) return found->second;
  const std::string path = fixture_path(fmt::format("{}.safetensors", name));
  return files.emplace(name, load_safetensors(path).tensors).first->second;
}

}  // namespace tape
