#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "line_reader.h"

namespace tape::text {

/// Formats of files with named fields.
enum class RecordFormat {
  jsonl,  ///< one JSON object per line
  csv,    ///< RFC 4180 with a header line: `"a, ""b"""` for a value with commas, quotes or line breaks
  tsv     ///< same, separated by tabs
};

/// "jsonl", "csv", "tsv"
const char* to_string(RecordFormat format);
/// Format by file extension: .jsonl and .ndjson, .csv, .tsv; nullopt for others.
std::optional<RecordFormat> record_format_of(const std::string& file);

/// Reads a file record by record, with one record in memory. Empty lines are skipped and counted. See corpus.h for
/// notes and errors.
///
/// Throws Error (format) with file, line and, where it applies, field: for invalid JSON, a record whose number of
/// fields differs from the header, a quote that is not closed, is inside an unquoted field or is followed by text, a
/// duplicate name, and a record of more than 64 MiB.
class RecordReader {
 public:
  static std::unique_ptr<RecordReader> open(const std::string& file, RecordFormat format);
  virtual ~RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// Moves to the next record (the first on the first call). Returns false after the last.
  virtual bool next() = 0;
  const std::string& file() const { return lines_.file(); }
  /// Line where the record begins, from 1.
  int64_t line() const { return line_; }

  // Access to the current record. A nested JSON field is named with dots: "translation.de".

  virtual bool has(const std::string& field) const = 0;
  /// A text field. Throws Error (format) if it is missing, with the existing fields, or has another type.
  virtual std::string text(const std::string& field) const = 0;
  /// A name field: a text without surrounding spaces, or a JSON integer or Boolean as written. Also throws Error
  /// (format) if it is empty.
  virtual std::string name(const std::string& field) const = 0;
  /// A field with several names: a JSON array, or names separated by spaces in other formats.
  virtual std::vector<std::string> names(const std::string& field) const = 0;

  /// Notes on a file that was read to its end, see corpus.h.
  std::vector<std::string> notes() const;

 protected:
  explicit RecordReader(const std::string& file) : lines_(file) {}
  /// Moves to the next line that is not empty by `is_empty`. Returns nullopt at the end.
  std::optional<std::string_view> begin_record(bool (*is_empty)(std::string_view line));
  /// Throws Error (format) for a record of more than 64 MiB: a quote is open, or the file has another format.
  void check_size(size_t bytes) const;
  [[noreturn]] void raise_missing(const std::string& field, const std::vector<std::string>& there) const;
  /// Removes spaces around a name.
  std::string as_name(const std::string& text, const std::string& field) const;

  LineReader lines_;
  int64_t line_ = 0;

 private:
  int64_t empty_lines_ = 0;
};

}  // namespace tape::text
