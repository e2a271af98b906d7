#pragma once

namespace tape {

/// Supported color depth.
enum class Colors {
  none,      ///< no color escape sequences
  ansi256,   ///< the 256 colors of xterm
  truecolor  ///< 24-bit color
};

/// Properties of the terminal behind a stream. The library never queries them itself: programs do and pass them on.
struct TerminalInfo {
  bool tty = false;              ///< a terminal that can redraw a line; false for files, pipes and TERM=dumb
  int columns = 80;              ///< width
  Colors colors = Colors::none;  ///< color depth
};

/// Queries a file descriptor (1 for stdout, 2 for stderr).
///
/// Colors: none if it is not a terminal or NO_COLOR is set and not empty (https://no-color.org); 24-bit if COLORTERM
/// is "truecolor" or "24bit"; otherwise 256.
TerminalInfo terminal_info(int fd);

}  // namespace tape
