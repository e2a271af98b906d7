#include "tools/terminal/interrupt.h"

#include <csignal>

namespace tape::tools {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int signal) {
  if (noted == 0) noted = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool is_ignored(int signal) {
  struct sigaction current {};
  return sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

void note_interrupts() {
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
  if (!is_ignored(SIGHUP)) std::signal(SIGHUP, note);
  std::signal(SIGPIPE, SIG_IGN);
}

int interrupted() { return noted; }

}  // namespace tape::tools
