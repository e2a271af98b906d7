#include "text/tokenizers/steps/json_entry.h"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"

namespace tape::text {

void JsonEntry::fail(const std::string& what) const { raise(ErrorKind::format, "{}: {}", where_, what); }

void JsonEntry::needs(const char* what) const {
  fail(fmt::format("must be {}, got {}", what, clipped(value_->dump(), 60)));
}

bool JsonEntry::is_null() const { return value_->is_null(); }

bool JsonEntry::has(const std::string& key) const {
  if (!value_->is_object()) needs("an object");
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

JsonEntry JsonEntry::at(const std::string& key) const {
  if (!value_->is_object()) needs("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) fail(fmt::format("\"{}\" is missing", key));
  return {*found, fmt::format("{}{}{}", where_, where_.ends_with(".json") ? ": " : ".", key)};
}

std::vector<JsonEntry> JsonEntry::items() const {
  std::vector<JsonEntry> out;
  out.reserve(size());
  for (size_t i = 0; i < size(); ++i) out.push_back(item(i));
  return out;
}

size_t JsonEntry::size() const {
  if (!value_->is_array()) needs("an array");
  return value_->size();
}

JsonEntry JsonEntry::item(size_t i) const { return {(*value_)[i], fmt::format("{}[{}]", where_, i)}; }

std::string JsonEntry::text() const {
  if (!value_->is_string()) needs("a string");
  return value_->get<std::string>();
}

bool JsonEntry::flag() const {
  if (!value_->is_boolean()) needs("true or false");
  return value_->get<bool>();
}

int64_t JsonEntry::integer() const {
  if (!value_->is_number_integer() ||
      (value_->is_number_unsigned() && value_->get<uint64_t>() > std::numeric_limits<int64_t>::max()))
    needs("an integer");
  return value_->get<int64_t>();
}

double JsonEntry::number() const {
  if (!value_->is_number()) needs("a number");
  return value_->get<double>();
}

std::string JsonEntry::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? at(key).text() : otherwise;
}
bool JsonEntry::flag(const std::string& key, bool otherwise) const { return has(key) ? at(key).flag() : otherwise; }
int64_t JsonEntry::integer(const std::string& key, int64_t otherwise) const {
  return has(key) ? at(key).integer() : otherwise;
}

}  // namespace tape::text
