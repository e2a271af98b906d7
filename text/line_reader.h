#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "utf8_file.h"

namespace tape::text {

/// A file line by line, with a block of it in memory; what is taken away of it and its errors are Utf8File's. Only LF
/// and CRLF end a line, and the last one needs none.
class LineReader {
 public:
  explicit LineReader(const std::string& file) : file_(file) {}

  const std::string& file() const { return file_.path(); }
  /// The next line without its end, until the call after it; nothing behind the last one.
  std::optional<std::string_view> next();
  /// Of that line, from 1; 0 before the first.
  int64_t number() const { return number_; }

  bool byte_order_mark() const { return file_.byte_order_mark(); }
  int64_t crlf_lines() const { return file_.carriage_returns(); }
  int64_t nul_lines() const { return nul_lines_; }  ///< lines so far that hold a NUL character
  /// What is told of a file that was read to its end: see corpus.h.
  std::vector<std::string> notes() const;

 private:
  Utf8File file_;
  std::string buffer_;
  size_t at_ = 0;  // of what is not given yet
  int64_t number_ = 0, nul_lines_ = 0, first_nul_ = 0;
};

}  // namespace tape::text
