#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../base/file.h"

namespace tape::text {

/// Reads a text file sequentially, with one block in memory. Checks that it is UTF-8, and removes a byte order mark and
/// the carriage returns of CRLF.
///
/// Throws Error (io) for a file that cannot be read, and Error (format) for UTF-16 and for invalid UTF-8, with line,
/// byte and position in the file.
class Utf8File {
 public:
  explicit Utf8File(const std::string& path) : file_(path) {}

  const std::string& path() const { return file_.path(); }
  /// Appends the next block. Returns false at the end of the file.
  bool read(std::string& to);

  bool byte_order_mark() const { return byte_order_mark_; }       ///< whether the file began with one
  int64_t carriage_returns() const { return carriage_returns_; }  ///< removed so far

 private:
  void check(const std::string& raw, size_t end) const;

  InputFile file_;
  std::string carried_;     // bytes at the end of a block that depend on the next one
  int64_t position_ = 0;    // next byte to read
  int64_t line_ = 1;        // line in which the next block begins
  int64_t line_begin_ = 0;  // position of that line
  bool byte_order_mark_ = false;
  int64_t carriage_returns_ = 0;
};

}  // namespace tape::text
