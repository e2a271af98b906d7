#include "text/corpus/record_reader.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/number_text.h"
#include "base/short_list.h"
#include "base/utf8.h"
#include "text/corpus/corpus_file.h"
#include "text/json.h"

namespace tape::text {
namespace {

/// CSV or TSV with a header line.
class CsvReader : public RecordReader {
 public:
  CsvReader(const std::string& file, char separator) : RecordReader(file), separator_(separator) {
    if (!read_fields()) return;
    columns_ = std::move(fields_);
    std::unordered_set<std::string_view> names;
    for (const std::string& column : columns_)
      if (!names.insert(column).second)
        raise(ErrorKind::format, "{}: line {}: duplicate column \"{}\"", file, line_, clipped(column, 60));
  }

  bool next() override {
    if (!read_fields()) return false;
    if (fields_.size() != columns_.size())
      raise(ErrorKind::format, "{}: line {}: {}, but the header has {}", file(), line_,
            counted(std::ssize(fields_), "field"), columns_.size());
    return true;
  }

  bool has(const std::string& field) const override { return std::ranges::find(columns_, field) != columns_.end(); }

  std::string text(const std::string& field) const override {
    const auto found = std::ranges::find(columns_, field);
    if (found == columns_.end()) raise_missing(field, columns_);
    return fields_[static_cast<size_t>(found - columns_.begin())];
  }

  std::string name(const std::string& field) const override { return as_name(text(field), field); }

  std::vector<std::string> names(const std::string& field) const override {
    const std::string all = text(field);
    std::vector<std::string> names;
    for (size_t begin = 0; (begin = all.find_first_not_of(" \t\n", begin)) != std::string::npos;) {
      const size_t end = std::min(all.find_first_of(" \t\n", begin), all.size());
      names.push_back(all.substr(begin, end - begin));
      begin = end;
    }
    return names;
  }

 private:
  /// Reads the fields of the next line that is not empty.
  bool read_fields() {
    fields_.clear();
    const auto line = begin_record([](std::string_view text) { return text.empty(); });
    if (!line) return false;
    std::string_view rest = *line;
    for (;;) {
      fields_.push_back(read_field(rest));
      if (rest.empty()) return true;
      rest.remove_prefix(1);  // the separator
    }
  }

  /// Name of the current field in messages.
  std::string name_of_next() const {
    const size_t at = fields_.size();
    return at < columns_.size() ? fmt::format("field \"{}\"", clipped(columns_[at], 60))
                                : fmt::format("field {}", at + 1);
  }

  /// Removes a field from the rest of its line.
  std::string read_field(std::string_view& rest) {
    if (rest.starts_with('"')) return read_quoted(rest);
    std::string field(rest.substr(0, rest.find(separator_)));
    if (field.find('"') != std::string::npos)
      raise(ErrorKind::format, "{}: line {}: {} contains a quote; quote the whole field and double each quote inside",
            file(), lines_.number(), name_of_next());
    rest.remove_prefix(field.size());
    return field;
  }

  std::string read_quoted(std::string_view& rest) {
    const int64_t opened = lines_.number();
    std::string field;
    rest.remove_prefix(1);
    for (;;) {
      const size_t quote = rest.find('"');
      field += rest.substr(0, quote);
      check_size(field.size());
      if (quote == std::string_view::npos) {
        const std::optional<std::string_view> line = lines_.next();
        if (!line)
          raise(ErrorKind::format, "{}: line {}: {} has an opening quote that is never closed", file(), opened,
                name_of_next());
        field += '\n';
        rest = *line;
        continue;
      }
      rest.remove_prefix(quote + 1);
      if (!rest.starts_with('"')) break;
      field += '"';
      rest.remove_prefix(1);
    }
    if (!rest.empty() && rest.front() != separator_)
      raise(ErrorKind::format, "{}: line {}: {} has text after the closing quote", file(), lines_.number(),
            name_of_next());
    return field;
  }

  const char separator_;
  std::vector<std::string> columns_, fields_;
};

/// JSON Lines (jsonlines.org): one object per line.
class JsonlReader : public RecordReader {
  using Json = nlohmann::ordered_json;

 public:
  explicit JsonlReader(const std::string& file) : RecordReader(file) {}

  bool next() override {
    const auto line = begin_record(is_empty);
    if (!line) return false;
    constexpr int kDeepest = 32;
    const std::string where = fmt::format("{}: line {}", file(), line_);
    try {
      record_ = parse_json(std::string(*line), where, kDeepest);
    } catch (const Error& error) {
      // The parser counts lines within the record, which is one line.
      constexpr std::string_view kOwnLine = "line 1, ";
      std::string what = error.what();
      if (const size_t at = what.find(kOwnLine, where.size()); at != std::string::npos) what.erase(at, kOwnLine.size());
      throw Error(error.kind(), what);
    }
    return true;
  }

  bool has(const std::string& field) const override { return find(field) != nullptr; }

  std::string text(const std::string& field) const override {
    const Json& value = at(field);
    if (!value.is_string()) raise_type(value, field, "a string");
    return value.get<std::string>();
  }

  std::string name(const std::string& field) const override { return name_in(at(field), field); }

  std::vector<std::string> names(const std::string& field) const override {
    const Json& values = at(field);
    if (!values.is_array()) raise_type(values, field, "an array");
    std::vector<std::string> names;
    for (const Json& value : values) names.push_back(name_in(value, field));
    return names;
  }

 private:
  /// Finds a field by its exact name, or else as a dotted path through objects. Returns null if there is none.
  const Json* find(const std::string& field) const {
    const Json* object = &record_;
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

  const Json& at(const std::string& field) const {
    if (const Json* const value = find(field)) return *value;
    std::vector<std::string> there;
    for (const auto& [key, value] : record_.items()) there.push_back(key);
    raise_missing(field, there);
  }

  std::string name_in(const Json& value, const std::string& field) const {
    if (value.is_string()) return as_name(value.get<std::string>(), field);
    if (value.is_boolean() || value.is_number_integer()) return value.dump();
    raise_type(value, field, "a string, an integer or a Boolean");
  }

  [[noreturn]] void raise_type(const Json& value, const std::string& field, const char* wanted) const {
    raise(ErrorKind::format, "{}: line {}: field \"{}\" must be {}, got {} {}", file(), line_, field, wanted,
          value.is_array() || value.is_object() ? "an" : "a", value.type_name());
  }

  Json record_;
};

}  // namespace

const char* to_string(RecordFormat format) {
  constexpr const char* names[] = {"jsonl", "csv", "tsv"};
  return names[static_cast<size_t>(format)];
}

std::optional<RecordFormat> record_format_of(const std::string& file) {
  const std::string end = std::filesystem::path(file).extension().string();
  if (end == ".jsonl" || end == ".ndjson") return RecordFormat::jsonl;
  if (end == ".csv") return RecordFormat::csv;
  if (end == ".tsv") return RecordFormat::tsv;
  return std::nullopt;
}

std::unique_ptr<RecordReader> RecordReader::open(const std::string& file, RecordFormat format) {
  if (format == RecordFormat::jsonl) return std::make_unique<JsonlReader>(file);
  return std::make_unique<CsvReader>(file, format == RecordFormat::csv ? ',' : '\t');
}

std::optional<std::string_view> RecordReader::begin_record(bool (*is_empty)(std::string_view line)) {
  std::optional<std::string_view> line = lines_.next();
  for (; line && is_empty(*line); line = lines_.next()) ++empty_lines_;
  if (!line) return line;
  line_ = lines_.number();
  check_size(line->size());
  return line;
}

void RecordReader::check_size(size_t bytes) const {
  constexpr size_t kLongest = size_t{64} << 20;
  if (bytes > kLongest)
    raise(ErrorKind::format, "{}: line {}: the record that begins here is larger than {}", file(), line_,
          format_bytes(static_cast<double>(kLongest)));
}

std::vector<std::string> RecordReader::notes() const {
  std::vector<std::string> notes = lines_.notes();
  if (empty_lines_ > 0) notes.push_back(fmt::format("{}: {} skipped", file(), counted(empty_lines_, "empty line")));
  return notes;
}

void RecordReader::raise_missing(const std::string& field, const std::vector<std::string>& there) const {
  raise(ErrorKind::format, "{}: line {}: no field \"{}\"; available fields: {}", file(), line_, field,
        short_list(there));
}

std::string RecordReader::as_name(const std::string& text, const std::string& field) const {
  const std::string_view name = trimmed(text);
  if (name.empty()) raise(ErrorKind::format, "{}: line {}: field \"{}\" is empty", file(), line_, field);
  return std::string(name);
}

}  // namespace tape::text
