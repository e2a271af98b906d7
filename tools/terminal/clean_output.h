#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace tape::tools {

/// A stream buffer that makes output safe for a terminal. Names and texts from files may contain bytes that move the
/// cursor, ring the bell or change the terminal's state. Control characters other than line feed and tab, and bytes
/// that are not UTF-8, become U+FFFD. With `for_terminal`, the command's own sequences pass: colors of its palette, and
/// a write that consists only of a carriage return or an erase-line sequence.
class CleanBuffer : public std::streambuf {
 public:
  CleanBuffer(std::streambuf& to, bool for_terminal) : to_(to), for_terminal_(for_terminal) {}

 private:
  int overflow(int c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

  bool pass(std::string_view text);

  std::streambuf& to_;
  const bool for_terminal_;
  char held_[4] = {};  // beginning of a character that the next write completes
  size_t held_size_ = 0;
};

/// Installs such buffers in std::cout and std::cerr while in scope.
class CleanStandardStreams {
 public:
  CleanStandardStreams();
  ~CleanStandardStreams();
  CleanStandardStreams(const CleanStandardStreams&) = delete;
  CleanStandardStreams& operator=(const CleanStandardStreams&) = delete;

 private:
  std::streambuf *out_, *error_;
  CleanBuffer clean_out_, clean_error_;
};

/// Returns a complete result text made safe in the same way.
std::string clean_text(std::string_view text);

}  // namespace tape::tools
