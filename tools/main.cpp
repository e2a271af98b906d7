// The tapeformer command: reads the arguments and calls the library.
#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/version.h"
#include "tools/clean_output.h"
#include "tools/commands.h"
#include "train/distributed/world.h"

namespace {

using tape::ErrorKind;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::io:
      return 4;
    case ErrorKind::numeric:
      return 5;
    case ErrorKind::out_of_memory:
      return 6;
    default:
      return 3;
  }
}

/// Where standard input, output or error is closed, the next file that is opened would take its place, and what is
/// printed would land in it.
void hold_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) tape::raise_errno("/dev/null", "open", errno);
}

constexpr const char* kNoMemory = "the system refuses more memory";

/// Destructors of nlohmann's JSON allocate (a list of the children, so that depth costs no stack). Refused there, the
/// exception cannot leave them, and the process ends: with the line and the code that it would have reached main with.
[[noreturn]] void say_memorys_end() noexcept {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    std::cout.flush();
    std::cerr << "tapeformer: " << kNoMemory << "\n";
    std::_Exit(exit_code(ErrorKind::out_of_memory));
  } catch (...) {
    std::cerr << "tapeformer: internal error: an exception that is not caught\n";
  }
  std::abort();
}

/// What could not be written was not said: no success.
void check_output() {
  errno = 0;
  if (std::cout.flush() && std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  // A stream that failed before no longer knows why.
  if (errno == 0) tape::raise(ErrorKind::io, "standard output: cannot write: an earlier write failed");
  tape::raise_errno("standard output", "write", errno);
}

/// Says why, and where several processes train together ends the others too. The exit code. The line is written at
/// once: mpirun puts a line of its own between two writes.
int failed(std::string_view why, int code) {
  tape::train::abort_all_ranks(code, [why](const std::string& who) {
    fmt::memory_buffer line;  // which has room of its own, where there is no memory
    fmt::format_to(std::back_inserter(line), "tapeformer: {}{}\n", who, why);
    std::cerr.write(line.data(), static_cast<std::streamsize>(line.size()));
  });
  return code;
}

int run(int argc, char** argv) {
  using namespace tape::tools;
  Program program("tapeformer", "Trains Transformers on a CPU, with every gradient in sight.",
                  std::string(tape::version()));
  for (const auto add :
       {add_demo, add_train, add_translate, add_generate, add_classify, add_embed, add_tokenize, add_score, add_run,
        add_report, add_inspect, add_merge, add_export, add_import, add_bench, add_info})
    add(program.root());
  program.add_completion();
  program.root().footer(
      "Exit codes: 0 all of it worked, 1 a fault of this program (or: train --doctor found one), 2 arguments that do "
      "not fit,\n"
      "3 a file or an option with a wrong content, 4 a file that cannot be read or written, 5 NaN or infinity,\n"
      "6 not enough memory, 130 and 143 after Ctrl-C and SIGTERM.");
  return program.run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  const tape::tools::CleanStandardStreams clean;
  try {
    std::set_terminate(say_memorys_end);
    // A file that would pass the limit of RLIMIT_FSIZE is an error of its write (EFBIG), not a signal.
    std::signal(SIGXFSZ, SIG_IGN);
    hold_standard_descriptors();
    const int code = run(argc, argv);
    if (code == 0) check_output();
    return code;
  } catch (const tape::Error& error) {
    return failed(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return failed(kNoMemory, exit_code(ErrorKind::out_of_memory));
  } catch (const std::exception& error) {
    return failed(tape::Error(ErrorKind::config, fmt::format("internal error: {}", error.what())).what(), 1);
  }
}
