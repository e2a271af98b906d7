#include "tools/interrupt.h"

#include <csignal>

namespace tape::tools {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int signal) {
  noted = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void note_interrupts() {
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

int interrupted() { return noted; }

}  // namespace tape::tools
