#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "line_reader.h"

namespace tape::text {

/// Files whose records have named fields.
enum class RecordFormat {
  jsonl,  ///< an object a line
  csv,  ///< RFC 4180: fields between commas, names in the first line, `"a, ""b"""` for what holds commas, quotes, lines
  tsv   ///< the same between tabs
};

/// "jsonl", "csv", "tsv"
const char* to_string(RecordFormat format);
/// By the end of a file's name: .jsonl and .ndjson, .csv, .tsv; nothing for another.
std::optional<RecordFormat> record_format_of(const std::string& file);

/// A file of records, one after the other; one of them is in memory. Read as corpus.h says of every reader, with its
/// errors. Lines without anything are skipped and counted.
///
/// Error (format) naming the file and the line, and the field where it is one's: what is no JSON, a record with another
/// number of fields than the header, a quote that is not closed, stands inside of a bare field or has text behind it, a
/// name that stands twice, a record of more than 64 MiB.
class RecordReader {
 public:
  static std::unique_ptr<RecordReader> open(const std::string& file, RecordFormat format);
  virtual ~RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// Goes to the next record, the first at the first call; false behind the last.
  virtual bool next() = 0;
  const std::string& file() const { return lines_.file(); }
  /// Where the record begins, from 1.
  int64_t line() const { return line_; }

  // Of the record that next() has gone to. A field within a field of JSON is named with a dot: "translation.de".

  virtual bool has(const std::string& field) const = 0;
  /// A field that holds a text. Error (format) where it is missing, naming those that there are, or another thing.
  virtual std::string text(const std::string& field) const = 0;
  /// A field that names something: a text without the blanks around it, or a whole number or truth value of JSON as it
  /// is written there. Error (format) besides where it is empty.
  virtual std::string name(const std::string& field) const = 0;
  /// A field that holds several names: a list of them in JSON, names between blanks elsewhere.
  virtual std::vector<std::string> names(const std::string& field) const = 0;

  /// What is told of a file that was read to its end: see corpus.h.
  std::vector<std::string> notes() const;

 protected:
  explicit RecordReader(const std::string& file) : lines_(file) {}
  /// Goes to the next line that has anything, by `is_empty`, for a record; nothing where there is none.
  std::optional<std::string_view> begin_record(bool (*is_empty)(std::string_view line));
  /// Error (format) for a record of more than 64 MiB, which is no record: a quote is open, or the file is of another
  /// kind.
  void check_size(size_t bytes) const;
  [[noreturn]] void raise_missing(const std::string& field, const std::vector<std::string>& there) const;
  /// The blanks around a name taken away.
  std::string as_name(const std::string& text, const std::string& field) const;

  LineReader lines_;
  int64_t line_ = 0;

 private:
  int64_t empty_lines_ = 0;
};

}  // namespace tape::text
