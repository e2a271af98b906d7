#include "inspect/live/live_request.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"
#include "text/json.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

LiveRequest::LiveRequest(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {}

std::string LiveRequest::path_of(const char* name) const { return path_ + name; }

void LiveRequest::wrong(const std::string& path, const char* expected, const Json& found) const {
  raise(ErrorKind::config, "{}: expected {}, got {}", path, expected, clipped(dump_json(found), 60));
}

bool LiveRequest::has(const char* name) const { return object_->contains(name) && !object_->at(name).is_null(); }

const Json& LiveRequest::member(const char* name) const {
  if (!has(name)) raise(ErrorKind::config, "{}: required", path_of(name));
  return object_->at(name);
}

std::string LiveRequest::text(const char* name) const {
  const Json& found = member(name);
  if (!found.is_string()) wrong(path_of(name), "a string", found);
  return found.get<std::string>();
}

int64_t LiveRequest::integer(const char* name) const {
  const Json& found = member(name);
  if (!found.is_number_integer() || (found.is_number_unsigned() && found.get<uint64_t>() > INT64_MAX))
    wrong(path_of(name), "an integer", found);
  return found.get<int64_t>();
}

double LiveRequest::number(const char* name) const {
  const Json& found = member(name);
  if (!found.is_number() || !std::isfinite(found.get<double>())) wrong(path_of(name), "a number", found);
  return found.get<double>();
}

std::vector<int64_t> LiveRequest::integers(const char* name) const {
  const Json& found = member(name);
  if (!found.is_array()) wrong(path_of(name), "a list of integers", found);
  std::vector<int64_t> integers;
  for (const Json& one : found) {
    if (!one.is_number_integer()) wrong(path_of(name), "a list of integers", found);
    integers.push_back(one.get<int64_t>());
  }
  return integers;
}

std::vector<LiveRequest> LiveRequest::objects(const char* name) const {
  std::vector<LiveRequest> objects;
  if (!has(name)) return objects;
  const Json& found = member(name);
  if (!found.is_array()) wrong(path_of(name), "a list of objects", found);
  for (const Json& one : found) {
    const std::string path = fmt::format("{}[{}]", path_of(name), objects.size());
    if (!one.is_object()) wrong(path, "an object", one);
    objects.emplace_back(one, path + ".");
  }
  return objects;
}

std::optional<int64_t> LiveRequest::optional_integer(const char* name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}

}  // namespace tape::inspect
