#include "train/runs/settings.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/number_text.h"
#include "base/path.h"
#include "text/hash.h"
#include "text/json.h"
#include "train/checkpoints/manifest.h"

namespace tape::train {
namespace {

using Json = nlohmann::ordered_json;

bool is_file(const Json& setting) {
  return setting.is_object() && setting.contains("file") && setting.contains("bytes") && setting.contains("xxh3_64");
}

bool same(const Json& then, const Json& now) {
  if (!is_file(then) || !is_file(now)) return then == now;
  return then["xxh3_64"] == now["xxh3_64"] && then["bytes"] == now["bytes"];
}

std::string shown(const Json& setting) {
  if (setting.is_null()) return "not set";
  if (setting.is_string()) return setting.get<std::string>();
  if (!is_file(setting) || !setting["file"].is_string() || !setting["bytes"].is_number_integer())
    return dump_json(setting);
  return fmt::format(
      "{} ({}, XXH3 {})", setting["file"].get<std::string>(), counted(setting["bytes"].get<int64_t>(), "byte"),
      setting["xxh3_64"].is_string() ? setting["xxh3_64"].get<std::string>() : setting["xxh3_64"].dump());
}

}  // namespace

Json file_setting(const std::string& path) { return path.empty() ? Json() : files_setting({path}); }

Json files_setting(const std::vector<std::string>& paths) {
  int64_t bytes = 0;
  std::vector<uint64_t> checksums;
  for (const std::string& path : paths) {
    checksums.push_back(file_checksum(path));
    bytes += file_bytes(path);
  }
  Hash all;
  all.add(checksums.data(), checksums.size() * sizeof checksums[0]);
  std::error_code ignored;
  return {{"file", std::filesystem::absolute(paths.at(0), ignored).string()},
          {"bytes", bytes},
          {"xxh3_64", fmt::format("{:016x}", checksums.size() == 1 ? checksums[0] : all.value())}};
}

Json file_setting(const std::string& path, Communicator& ranks) {
  Json first;
  if (ranks.is_root()) first = {{"path", path}, {"of", file_setting(path)}};
  first = parse_json(broadcast(ranks, dump_json(first)), path);
  return first["path"] == path ? first["of"] : file_setting(path);
}

std::vector<std::string> differing_settings(const std::string& then, const std::string& now, const std::string& then_is,
                                            const std::string& now_is) {
  const Json before = parse_json(then, "settings of the saved run"), here = parse_json(now, "settings of the run");
  std::vector<std::string> all;
  const auto value = [](const Json& object, const std::string& key) {
    const auto found = object.find(key);
    return found == object.end() ? Json() : *found;
  };
  const auto compare = [&](const std::string& key) {
    const Json a = value(before, key), b = value(here, key);
    if (!same(a, b)) all.push_back(fmt::format("{} {} {}, {} {}", key, shown(a), then_is, shown(b), now_is));
  };
  for (const auto& [key, now_value] : here.items()) compare(key);
  for (const auto& [key, then_value] : before.items())
    if (!here.contains(key)) compare(key);
  return all;
}

}  // namespace tape::train
