#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../base/file.h"

namespace tape::text {

/// A file of text, read from its beginning to its end with a block of it in memory: checked to be UTF-8, without a byte
/// order mark, and without the carriage returns of CRLF.
///
/// Error (io) for a file that cannot be read; (format) with line, byte and the byte of the file for what is no UTF-8,
/// and for UTF-16.
class Utf8File {
 public:
  explicit Utf8File(const std::string& path) : file_(path) {}

  const std::string& path() const { return file_.path(); }
  /// Appends the next block to a text; false where the file has ended.
  bool read(std::string& to);

  bool byte_order_mark() const { return byte_order_mark_; }       ///< it began with one
  int64_t carriage_returns() const { return carriage_returns_; }  ///< taken away so far

 private:
  void check(const std::string& raw, size_t end) const;

  InputFile file_;
  std::string carried_;     // what a block ended with that cannot be judged without the next one
  int64_t position_ = 0;    // in the file, of what is read next
  int64_t line_ = 1;        // that the next block begins in
  int64_t line_begin_ = 0;  // of that line in the file
  bool byte_order_mark_ = false;
  int64_t carriage_returns_ = 0;
};

}  // namespace tape::text
