#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "train/checkpoint.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRunFiles{"log.jsonl", "model.safetensors"};

/// What shows that a folder holds a run.
std::optional<std::string> trace_of_run(const std::string& folder) {
  std::error_code ignored;
  for (const char* file : kRunFiles)
    if (fs::exists(folder + "/" + file, ignored)) return file;
  if (const auto steps = checkpoint_steps(folder); !steps.empty()) return checkpoint_name(steps.back());
  return std::nullopt;
}

/// The process that wrote its number into the lock file.
std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t size = pread(lock, text.data(), text.size(), 0);
  std::string_view number(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return number.empty() ? "another process" : fmt::format("process {}", number);
}

int locked(const std::string& folder) {
  const std::string path = folder + "/.lock";
  const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) raise_errno(path, "create the file", errno);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int number = errno;
    const std::string holder = holder_of(lock);
    close(lock);
    if (number != EWOULDBLOCK) raise_errno(path, "lock", number);
    raise(ErrorKind::io, "{}: locked by {}, which trains there", folder, holder);
  }
  const std::string number = fmt::format("{}\n", getpid());
  if (ftruncate(lock, 0) != 0 || pwrite(lock, number.data(), number.size(), 0) < 0) {
    const int failed = errno;
    close(lock);
    raise_errno(path, "write", failed);
  }
  return lock;
}

}  // namespace

RunFolder::RunFolder(std::string path, Start start) : path_(std::move(path)), resumes_(start == Start::resume) {
  if (path_.empty()) raise(ErrorKind::config, "run folder: its path is empty");
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed) raise(ErrorKind::io, "{}: cannot make the folder: {}", path_, failed.message());
  lock_ = locked(path_);
  try {
    const auto trace = trace_of_run(path_);
    if (trace && start == Start::fresh)
      raise(ErrorKind::io, "{} holds another run ({}); resume it, overwrite it, or choose another folder", path_,
            *trace);
    if (trace && start == Start::overwrite) {
      remove_checkpoints_except(path_, {});
      fs::remove(file("log.jsonl"), failed);
      if (failed) raise(ErrorKind::io, "{}: cannot remove: {}", file("log.jsonl"), failed.message());
    }
  } catch (...) {
    close(lock_);
    throw;
  }
}

RunFolder::~RunFolder() { close(lock_); }

}  // namespace tape::train
