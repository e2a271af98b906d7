#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tape {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

TerminalInfo terminal_info(int fd) {
  TerminalInfo info;
  if (isatty(fd) == 0 || environment("TERM") == "dumb") return info;
  info.tty = true;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) info.columns = size.ws_col;
  if (!environment("NO_COLOR").empty()) return info;
  const std::string_view depth = environment("COLORTERM");
  info.colors = depth == "truecolor" || depth == "24bit" ? Colors::truecolor : Colors::ansi256;
  return info;
}

}  // namespace tape
