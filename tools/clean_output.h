#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace tape::tools {

/// A stream's buffer that hands on what is safe to show on a terminal. Names and texts from files may hold bytes that
/// move the cursor, ring the bell or change the terminal's state: control characters but line feeds and tabs, and bytes
/// that are no UTF-8, become U+FFFD. Where `for_terminal`, the command's own sequences pass: colours of its palette,
/// and a write that is nothing but a return or an erased line.
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
  char held_[4] = {};  // the beginning of a character whose end comes with the next write
  size_t held_size_ = 0;
};

/// Puts such buffers into std::cout and std::cerr while it lives.
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

/// The same for a whole text that a result of the command is, which is shown on a terminal.
std::string clean_text(std::string_view text);

}  // namespace tape::tools
