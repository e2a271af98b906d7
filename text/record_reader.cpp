#include "text/record_reader.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/short_list.h"
#include "text/csv_reader.h"
#include "text/jsonl_reader.h"

namespace tape::text {

const char* to_string(RecordFormat format) {
  switch (format) {
    case RecordFormat::jsonl:
      return "jsonl";
    case RecordFormat::csv:
      return "csv";
    case RecordFormat::tsv:
      return "tsv";
  }
  return "?";
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

void RecordReader::raise_missing(const std::string& field, const std::vector<std::string>& there) const {
  raise(ErrorKind::format, "{}: line {}: there is no field \"{}\"; there are: {}", file_, line_, field,
        short_list(there));
}

std::string RecordReader::as_name(const std::string& text, const std::string& field) const {
  constexpr const char* kBlanks = " \t\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) raise(ErrorKind::format, "{}: line {}: field \"{}\" is empty", file_, line_, field);
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace tape::text
