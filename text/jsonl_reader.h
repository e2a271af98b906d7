#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "line_reader.h"
#include "record_reader.h"

namespace tape::text {

/// JSON Lines (jsonlines.org): an object a line; see RecordReader.
class JsonlReader : public RecordReader {
 public:
  explicit JsonlReader(const std::string& file);
  ~JsonlReader() override;

  bool next() override;
  bool has(const std::string& field) const override;
  std::string text(const std::string& field) const override;
  std::string name(const std::string& field) const override;
  std::vector<std::string> names(const std::string& field) const override;
  std::vector<std::string> notes() const override;

 private:
  const nlohmann::ordered_json* find(const std::string& field) const;
  const nlohmann::ordered_json& at(const std::string& field) const;
  std::string name_in(const nlohmann::ordered_json& value, const std::string& field) const;
  [[noreturn]] void raise_type(const nlohmann::ordered_json& value, const std::string& field, const char* wanted) const;

  LineReader lines_;
  std::unique_ptr<nlohmann::ordered_json> record_;
  int64_t empty_lines_ = 0;
};

}  // namespace tape::text
