#include "models/folders/config_reader.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/json.h"

namespace tape::models {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

ConfigReader::ConfigReader(const std::string& text, std::string where)
    : json_(parse_json(text, where)), where_(std::move(where)) {}

ConfigReader::ConfigReader(Json json, std::string where) : json_(std::move(json)), where_(std::move(where)) {}

bool ConfigReader::has(const char* key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

const Json* ConfigReader::find(const char* key, bool optional) const {
  const auto found = json_.find(key);
  if (optional && (found == json_.end() || found->is_null())) return nullptr;
  if (found == json_.end()) raise(ErrorKind::config, "{}: \"{}\" is missing", where_, key);
  return &*found;
}

int64_t ConfigReader::whole(const char* key, std::optional<int64_t> otherwise) const {
  const Json* j = find(key, otherwise.has_value());
  return j ? whole(key, *j, "an integer") : *otherwise;
}

int64_t ConfigReader::whole(const char* key, const Json& value, const char* needed) const {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max()))
    wrong(key, needed);
  return value.get<int64_t>();
}

double ConfigReader::number(const char* key, std::optional<double> otherwise) const {
  const Json* j = find(key, otherwise.has_value());
  if (!j) return *otherwise;
  if (!j->is_number() || !std::isfinite(j->get<double>())) wrong(key, "a number");
  return j->get<double>();
}

bool ConfigReader::flag(const char* key, std::optional<bool> otherwise) const {
  const Json* j = find(key, otherwise.has_value());
  if (!j) return *otherwise;
  if (!j->is_boolean()) wrong(key, "true or false");
  return j->get<bool>();
}

std::string ConfigReader::text(const char* key, std::optional<std::string> otherwise) const {
  const Json* j = find(key, otherwise.has_value());
  if (!j) return *otherwise;
  if (!j->is_string()) wrong(key, "a string");
  return j->get<std::string>();
}

std::vector<std::string> ConfigReader::names(const char* key) const {
  const Json* j = find(key, true);
  std::vector<std::string> names;
  if (!j) return names;
  if (!j->is_array() && !j->is_object()) wrong(key, "a list of names");
  // An ordered object looks its keys up linearly.
  std::unordered_map<std::string_view, const Json*> by_number;
  if (j->is_object())
    for (const auto& [number, entry] : j->get_ref<const Json::object_t&>()) by_number.emplace(number, &entry);
  const auto entry_of = [&](size_t i) -> const Json* {
    if (j->is_array()) return &(*j)[i];
    const auto found = by_number.find(fmt::format("{}", i));
    return found == by_number.end() ? nullptr : found->second;
  };
  names.reserve(j->size());
  for (size_t i = 0; i < j->size(); ++i) {
    const Json* const entry = entry_of(i);
    if (!entry || !entry->is_string()) wrong(key, "names for 0, 1, 2, ...");
    names.push_back(entry->get<std::string>());
  }
  return names;
}

std::vector<int64_t> ConfigReader::integers(const char* key) const {
  constexpr const char* kNeeded = "an integer or a list of integers";
  const Json& j = *find(key, false);
  if (!j.is_array()) return {whole(key, j, kNeeded)};
  std::vector<int64_t> numbers;
  for (const Json& entry : j) numbers.push_back(whole(key, entry, kNeeded));
  return numbers;
}

int64_t ConfigReader::first_whole(const char* key, int64_t otherwise) const {
  if (!has(key)) return otherwise;
  const std::vector<int64_t> numbers = integers(key);
  if (numbers.empty()) wrong(key, "an integer or a list of at least one");
  return numbers.front();
}

ConfigReader ConfigReader::object(const char* key) const {
  const Json& j = *find(key, false);
  if (!j.is_object()) wrong(key, "an object");
  return {j, fmt::format("{}: \"{}\"", where_, key)};
}

ConfigReader ConfigReader::renamed(std::initializer_list<std::pair<const char*, const char*>> names) const {
  Json json = json_;
  for (const auto& [name, read] : names)
    if (has(name)) json[read] = json_.at(name);
  return {std::move(json), where_};
}

void ConfigReader::require_flag(const char* key, bool value, bool otherwise) const {
  if (flag(key, otherwise) != value) wrong(key, value ? "true" : "false");
}

void ConfigReader::wrong(const char* key, const std::string& needed) const {
  const auto found = json_.find(key);
  constexpr int64_t kColumns = 300;
  raise(ErrorKind::config, "{}: \"{}\" must be {}, got {}", where_, key, needed,
        found == json_.end() ? "nothing"
                             : clipped(found->dump(-1, ' ', false, Json::error_handler_t::replace), kColumns));
}

}  // namespace tape::models
