#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tape::tools {

/// Reads a line of standard input unchanged, without its line feed; empty at the end. Throws Error (io).
std::optional<std::string> next_line();

/// Reads lines of text from standard input. Skips a byte order mark at the start and carriage returns at line ends.
class LineReader {
 public:
  /// Returns `most` lines, or fewer at the end; on a terminal one line, so that it is answered at once. Throws Error
  /// (format) naming line and byte for text that is not UTF-8, after returning the lines before it. Throws Error (io).
  std::vector<std::string> next(int64_t most);
  int64_t count() const { return count_; }  ///< lines returned so far

 private:
  int64_t count_ = 0;
  std::string broken_;  // the error after the lines returned last
};

/// Writes results to standard output: unchanged to a file or a pipe, cleaned (clean_output.h) to a terminal. Throws
/// Error (io) if they cannot be written.
class Output {
 public:
  /// Turns SIGPIPE of a closed pipe into an exception that until_closed() catches.
  Output();
  void write(std::string_view text);
  void flush();

 private:
  const bool for_terminal_;
};

/// Processes standard input in groups of lines with says.lines(), then calls says.report().
template <class LineProcessor>
void process_lines(int64_t at_once, LineProcessor says) {
  LineReader in;
  Output out;
  for (auto lines = in.next(at_once); !lines.empty(); lines = in.next(at_once)) {
    out.write(says.lines(lines));
    out.flush();
  }
  says.report();
}

/// Returns the exit code of `body`. If the reader closed the pipe (`| head`), returns 141 without a message, as a shell
/// reports SIGPIPE.
int until_closed(const std::function<int()>& body);

/// Prints `tapeformer: note` to standard error; nothing for "".
void tell(const std::string& note);

/// The text with spaces instead of line breaks, so that it is one line.
std::string one_line(std::string text);

}  // namespace tape::tools
