#include "tools/terminal/lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "tools/terminal/clean_output.h"

namespace tape::tools {
namespace {

/// Thrown if the reader of standard output has closed the pipe.
struct Closed {};

[[noreturn]] void cannot_write() {
  if (errno == EPIPE) throw Closed();
  raise(ErrorKind::io, "standard output: cannot write: {}", std::generic_category().message(errno));
}

}  // namespace

std::optional<std::string> next_line() {
  std::string line;
  for (int c = getc_unlocked(stdin); c != EOF; c = getc_unlocked(stdin)) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  // A C++ stream would treat the error as the end of input.
  if (std::ferror(stdin))
    raise(ErrorKind::io, "standard input: cannot read: {}", std::generic_category().message(errno));
  if (line.empty()) return std::nullopt;
  return line;
}

std::vector<std::string> LineReader::next(int64_t most) {
  if (!broken_.empty()) raise(ErrorKind::format, "{}", broken_);
  if (isatty(STDIN_FILENO)) most = 1;
  std::vector<std::string> lines;
  while (std::ssize(lines) < most) {
    std::optional<std::string> line = next_line();
    if (!line) break;
    if (count_ == 0 && line->starts_with("\xEF\xBB\xBF")) line->erase(0, 3);
    if (line->ends_with('\r')) line->pop_back();
    if (const auto at = first_invalid_utf8(*line)) {
      broken_ = fmt::format("standard input: line {}, byte {}: not UTF-8", count_ + 1, *at + 1);
      if (lines.empty()) raise(ErrorKind::format, "{}", broken_);
      break;
    }
    ++count_;
    lines.push_back(std::move(*line));
  }
  return lines;
}

Output::Output() : for_terminal_(isatty(STDOUT_FILENO) != 0) { std::signal(SIGPIPE, SIG_IGN); }

void Output::write(std::string_view text) {
  const std::string cleaned = for_terminal_ ? clean_text(text) : "";
  if (for_terminal_) text = cleaned;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) cannot_write();
}

void Output::flush() {
  if (std::fflush(stdout) != 0) cannot_write();
}

int until_closed(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Closed&) {
    // Discards the rest of the buffer, which has no reader either.
    std::_Exit(128 + SIGPIPE);
  }
}

void tell(const std::string& note) {
  if (!note.empty()) std::cerr << "tapeformer: " << note << "\n";
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace tape::tools
