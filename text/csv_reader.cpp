#include "text/csv_reader.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "base/utf8.h"
#include "text/corpus_file.h"

namespace tape::text {

CsvReader::CsvReader(const std::string& file, char separator)
    : RecordReader(file), lines_(file), separator_(separator) {
  if (!read_fields()) return;
  columns_ = std::move(fields_);
  std::unordered_set<std::string_view> names;
  for (const std::string& column : columns_)
    if (!names.insert(column).second)
      raise(ErrorKind::format, "{}: line {}: two columns have the name \"{}\"", file_, line_, clipped(column, 60));
}

bool CsvReader::next() {
  if (!read_fields()) return false;
  if (fields_.size() != columns_.size())
    raise(ErrorKind::format, "{}: line {}: {}, the first line names {}", file_, line_,
          counted(std::ssize(fields_), "field"), columns_.size());
  return true;
}

/// The fields of the next line that has any.
bool CsvReader::read_fields() {
  fields_.clear();
  std::optional<std::string_view> line = lines_.next();
  for (; line && line->empty(); line = lines_.next()) ++empty_lines_;
  if (!line) return false;
  line_ = lines_.number();
  check_record_size(line->size(), file_, line_);
  std::string_view rest = *line;
  for (;;) {
    fields_.push_back(read_field(rest));
    if (rest.empty()) return true;
    rest.remove_prefix(1);  // the separator
  }
}

/// How a message calls the field that is being read.
std::string CsvReader::name_of_next() const {
  const size_t at = fields_.size();
  return at < columns_.size() ? fmt::format("field \"{}\"", clipped(columns_[at], 60))
                              : fmt::format("field {}", at + 1);
}

/// Takes a field away from the rest of its line.
std::string CsvReader::read_field(std::string_view& rest) {
  if (rest.starts_with('"')) return read_quoted(rest);
  std::string field(rest.substr(0, rest.find(separator_)));
  if (field.find('"') != std::string::npos)
    raise(ErrorKind::format,
          "{}: line {}: {} has a quote inside; a field with quotes begins and ends with one and has each of its own "
          "twice",
          file_, lines_.number(), name_of_next());
  rest.remove_prefix(field.size());
  return field;
}

std::string CsvReader::read_quoted(std::string_view& rest) {
  const int64_t opened = lines_.number();
  std::string field;
  rest.remove_prefix(1);
  for (;;) {
    const size_t quote = rest.find('"');
    field += rest.substr(0, quote);
    check_record_size(field.size(), file_, line_);
    if (quote == std::string_view::npos) {
      const std::optional<std::string_view> line = lines_.next();
      if (!line)
        raise(ErrorKind::format, "{}: line {}: {} begins with a quote that is not closed", file_, opened,
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
    raise(ErrorKind::format, "{}: line {}: {} has text behind the quote that closes it", file_, lines_.number(),
          name_of_next());
  return field;
}

bool CsvReader::has(const std::string& field) const { return std::ranges::find(columns_, field) != columns_.end(); }

std::string CsvReader::text(const std::string& field) const {
  const auto found = std::ranges::find(columns_, field);
  if (found == columns_.end()) raise_missing(field, columns_);
  return fields_[static_cast<size_t>(found - columns_.begin())];
}

std::string CsvReader::name(const std::string& field) const { return as_name(text(field), field); }

std::vector<std::string> CsvReader::names(const std::string& field) const {
  const std::string all = text(field);
  std::vector<std::string> names;
  for (size_t begin = 0; (begin = all.find_first_not_of(" \t\n", begin)) != std::string::npos;) {
    const size_t end = std::min(all.find_first_of(" \t\n", begin), all.size());
    names.push_back(all.substr(begin, end - begin));
    begin = end;
  }
  return names;
}

std::vector<std::string> CsvReader::notes() const {
  std::vector<std::string> notes = lines_.notes();
  if (empty_lines_ > 0) notes.push_back(empty_lines_note(file_, empty_lines_));
  return notes;
}

}  // namespace tape::text
