#pragma once

#include <string_view>

#include "line_reader.h"
#include "record_reader.h"

namespace tape::text {

/// Records of a table whose first line names the columns; see RecordReader.
class CsvReader : public RecordReader {
 public:
  CsvReader(const std::string& file, char separator);

  bool next() override;
  bool has(const std::string& field) const override;
  std::string text(const std::string& field) const override;
  std::string name(const std::string& field) const override;
  std::vector<std::string> names(const std::string& field) const override;
  std::vector<std::string> notes() const override;

 private:
  bool read_fields();
  std::string read_field(std::string_view& rest);
  std::string read_quoted(std::string_view& rest);
  std::string name_of_next() const;

  LineReader lines_;
  const char separator_;
  std::vector<std::string> columns_, fields_;
  int64_t empty_lines_ = 0;
};

}  // namespace tape::text
