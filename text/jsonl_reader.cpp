#include "text/jsonl_reader.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "text/corpus_file.h"

namespace tape::text {

using Json = nlohmann::ordered_json;

JsonlReader::JsonlReader(const std::string& file)
    : RecordReader(file), lines_(file), record_(std::make_unique<Json>()) {}

JsonlReader::~JsonlReader() = default;

bool JsonlReader::next() {
  std::optional<std::string_view> line = lines_.next();
  for (; line && is_empty(*line); line = lines_.next()) ++empty_lines_;
  if (!line) return false;
  line_ = lines_.number();
  check_record_size(line->size(), file_, line_);
  constexpr int kDeepest = 32;
  *record_ = parse_json(std::string(*line), fmt::format("{}: line {}", file_, line_), kDeepest);
  return true;
}

/// The field, null where there is none: one of that very name, else the way through objects that its dots describe.
const Json* JsonlReader::find(const std::string& field) const {
  const Json* object = record_.get();
  std::string_view rest = field;
  for (;;) {
    if (!object->is_object()) return nullptr;
    if (const auto found = object->find(rest); found != object->end()) return &*found;
    const size_t dot = rest.find('.');
    if (dot == std::string_view::npos) return nullptr;
    const auto inner = object->find(rest.substr(0, dot));
    if (inner == object->end()) return nullptr;
    object = &*inner;
    rest.remove_prefix(dot + 1);
  }
}

const Json& JsonlReader::at(const std::string& field) const {
  if (const Json* const value = find(field)) return *value;
  std::vector<std::string> there;
  for (const auto& [key, value] : record_->items()) there.push_back(key);
  raise_missing(field, there);
}

void JsonlReader::raise_type(const Json& value, const std::string& field, const char* wanted) const {
  raise(ErrorKind::format, "{}: line {}: field \"{}\" must be {}, is {} {}", file_, line_, field, wanted,
        value.is_array() || value.is_object() ? "an" : "a", value.type_name());
}

bool JsonlReader::has(const std::string& field) const { return find(field) != nullptr; }

std::string JsonlReader::text(const std::string& field) const {
  const Json& value = at(field);
  if (!value.is_string()) raise_type(value, field, "a string");
  return value.get<std::string>();
}

std::string JsonlReader::name_in(const Json& value, const std::string& field) const {
  if (value.is_string()) return as_name(value.get<std::string>(), field);
  if (value.is_boolean() || value.is_number_integer()) return value.dump();
  raise_type(value, field, "a string, a whole number or a truth value");
}

std::string JsonlReader::name(const std::string& field) const { return name_in(at(field), field); }

std::vector<std::string> JsonlReader::names(const std::string& field) const {
  const Json& values = at(field);
  if (!values.is_array()) raise_type(values, field, "an array");
  std::vector<std::string> names;
  for (const Json& value : values) names.push_back(name_in(value, field));
  return names;
}

std::vector<std::string> JsonlReader::notes() const {
  std::vector<std::string> notes = lines_.notes();
  if (empty_lines_ > 0) notes.push_back(empty_lines_note(file_, empty_lines_));
  return notes;
}

}  // namespace tape::text
