#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tape::tools {

/// A line of standard input as it is, without its line feed; nothing at the end. Error (io).
std::optional<std::string> next_line();

/// Lines of text from standard input. A byte order mark at the start and carriage returns at the ends are passed over.
class LineReader {
 public:
  /// Up to `most` lines, fewer at the end only; on a terminal one, to be answered at once. Error (format) naming line
  /// and byte of text that is not UTF-8: the lines in front of it are given first. Error (io).
  std::vector<std::string> next(int64_t most);
  int64_t count() const { return count_; }  ///< lines given so far

 private:
  int64_t count_ = 0;
  std::string broken_;  // the error behind the lines given last
};

/// Results to standard output: as they are to a file or a pipe, cleaned (clean_output.h) on a terminal. Error (io)
/// where they cannot be written.
class Output {
 public:
  /// A closed pipe gives an error that until_closed() knows in place of a signal.
  Output();
  void write(std::string_view text);
  void flush();

 private:
  const bool for_terminal_;
};

/// Answers standard input, so many lines at a time, with says.lines() of them; then says.report().
template <class Says>
void answer_lines(int64_t at_once, Says says) {
  LineReader in;
  Output out;
  for (auto lines = in.next(at_once); !lines.empty(); lines = in.next(at_once)) {
    out.write(says.lines(lines));
    out.flush();
  }
  says.report();
}

/// The exit code of `body`, or quietly that of a program whose reader went away (`| head`): 141, as shells give it.
int until_closed(const std::function<int()>& body);

/// A note for people, `tapeformer: note` on standard error; nothing for "".
void tell(const std::string& note);

/// The text with blanks in place of line breaks, so that it is one line.
std::string one_line(std::string text);

}  // namespace tape::tools
