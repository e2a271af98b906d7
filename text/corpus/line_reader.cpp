#include "text/corpus/line_reader.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"

namespace tape::text {

std::optional<std::string_view> LineReader::next() {
  size_t searched = at_;
  size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos) {
    searched = buffer_.size() - at_;
    buffer_.erase(0, at_);
    at_ = 0;
    if (!file_.read(buffer_)) break;
    end = buffer_.find('\n', searched);
  }
  if (end == std::string::npos && at_ == buffer_.size()) return std::nullopt;
  const std::string_view line = std::string_view(buffer_).substr(at_, end == std::string::npos ? end : end - at_);
  at_ += line.size() + (end == std::string::npos ? 0 : 1);
  ++number_;
  if (line.find('\0') != std::string_view::npos && nul_lines_++ == 0) first_nul_ = number_;
  return line;
}

std::vector<std::string> LineReader::notes() const {
  std::vector<std::string> notes;
  if (byte_order_mark()) notes.push_back(fmt::format("{}: byte order mark removed", file()));
  if (crlf_lines() > 0)
    notes.push_back(fmt::format("{}: carriage returns removed from {} of {}", file(), grouped(crlf_lines()),
                                counted(number_, "line")));
  if (nul_lines_ > 0)
    notes.push_back(fmt::format("{}: NUL characters kept in {}, the first in line {}", file(),
                                counted(nul_lines_, "line"), first_nul_));
  return notes;
}

}  // namespace tape::text
