#pragma once

namespace tape {

/// How many colours may be written.
enum class Colors {
  none,      ///< no escape sequences for colour at all
  ansi256,   ///< the 256 colours of xterm
  truecolor  ///< 24 bits
};

/// What a stream of the process is shown on. The library never asks by itself: programs do, and hand it on.
struct TerminalInfo {
  bool tty = false;  ///< a terminal that can redraw a line; false for files, pipes and TERM=dumb
  int columns = 80;  ///< its width
  Colors colors = Colors::none;
};

/// Asks the system about a file descriptor (1 for stdout, 2 for stderr).
///
/// Colours: none off a terminal and where NO_COLOR is set to anything but "" (https://no-color.org); 24 bits where
/// COLORTERM is "truecolor" or "24bit"; 256 otherwise.
TerminalInfo terminal_info(int fd);

}  // namespace tape
