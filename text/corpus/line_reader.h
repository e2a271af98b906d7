#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "utf8_file.h"

namespace tape::text {

/// Reads a file line by line, with one block in memory. Lines end with LF or CRLF; the last need not. Cleanup and
/// errors as for Utf8File.
class LineReader {
 public:
  explicit LineReader(const std::string& file) : file_(file) {}

  const std::string& file() const { return file_.path(); }
  /// Returns the next line without its line end, valid until the next call; nullopt after the last line.
  std::optional<std::string_view> next();
  /// Number of that line, from 1; 0 before the first.
  int64_t number() const { return number_; }

  bool byte_order_mark() const { return file_.byte_order_mark(); }
  int64_t crlf_lines() const { return file_.carriage_returns(); }
  int64_t nul_lines() const { return nul_lines_; }  ///< lines so far with a NUL character
  /// Notes on a file that was read to its end, see corpus.h.
  std::vector<std::string> notes() const;

 private:
  Utf8File file_;
  std::string buffer_;
  size_t at_ = 0;  // position of the next line in buffer_
  int64_t number_ = 0, nul_lines_ = 0, first_nul_ = 0;
};

}  // namespace tape::text
