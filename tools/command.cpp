#include "tools/command.h"

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
#include "tools/commands.h"
#include "tools/terminal/clean_output.h"
#include "tools/terminal/shell.h"
#include "train/distributed/world.h"

namespace {

using tape::ErrorKind;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::io:
    case ErrorKind::device:
      return 4;
    case ErrorKind::numeric:
      return 5;
    case ErrorKind::out_of_memory:
      return 6;
    default:
      return 3;
  }
}

/// If standard input, output or error is closed, the next opened file would get its descriptor and receive what is
/// printed.
void hold_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) tape::raise_errno("/dev/null", "open", errno);
}

constexpr const char* kNoMemory = "out of memory";

/// Destructors of nlohmann::json allocate (a list of children, so that depth costs no stack). If that fails, the
/// exception cannot leave the destructor and the process terminates. This prints the line and exits with the code that
/// main would.
[[noreturn]] void say_memorys_end() noexcept {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    std::cout.flush();
    std::cerr << "tapeformer: " << kNoMemory << "\n";
    std::_Exit(exit_code(ErrorKind::out_of_memory));
  } catch (...) {
    std::cerr << "tapeformer: internal error: uncaught exception\n";
  }
  std::abort();
}

/// Throws Error (io) if standard output could not be written, so that lost output is not a success.
void check_output() {
  errno = 0;
  if (std::cout.flush() && std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  // A stream that failed earlier does not know why.
  if (errno == 0) tape::raise(ErrorKind::io, "standard output: cannot write: an earlier write failed");
  tape::raise_errno("standard output", "write", errno);
}

/// Prints the reason, ends the other processes of data-parallel training and returns the exit code. The line is written
/// in one piece, because mpirun inserts its own lines between writes.
int failed(std::string_view why, int code) {
  tape::train::abort_all_ranks(code, [why](const std::string& who) {
    fmt::memory_buffer line;  // needs no heap for a short line, in case memory is exhausted
    fmt::format_to(std::back_inserter(line), "tapeformer: {}{}\n", who, why);
    std::cerr.write(line.data(), static_cast<std::streamsize>(line.size()));
  });
  return code;
}

int run(int argc, char** argv) {
  using namespace tape::tools;
  Program program("tapeformer", "Trains and runs Transformers on a CPU and makes every gradient visible.",
                  std::string(tape::version()));
  for (const auto add :
       {add_demo, add_train, add_translate, add_generate, add_classify, add_embed, add_tokenize, add_score, add_run,
        add_report, add_inspect, add_merge, add_export, add_import, add_bench, add_info})
    add(program.root());
  program.add_completion();
  program.root().footer(
      "Exit codes: 0 success, 1 an error in this program (or train --doctor found a problem), 2 invalid arguments,\n"
      "3 a file with invalid contents or an invalid configuration, 4 a file that cannot be read or written,\n"
      "5 NaN or infinity, 6 out of memory, 129 after SIGHUP, 130 after Ctrl-C, 143 after SIGTERM.");
  return program.run(argc, argv);
}

}  // namespace

namespace tape::tools {

int run_command(int argc, char** argv) {
  const CleanStandardStreams clean;
  try {
    std::set_terminate(say_memorys_end);
    // Makes a write beyond RLIMIT_FSIZE fail with EFBIG instead of raising a signal.
    std::signal(SIGXFSZ, SIG_IGN);
    hold_standard_descriptors();
    if (argc > 0) set_command_path(argv[0]);
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

}  // namespace tape::tools
