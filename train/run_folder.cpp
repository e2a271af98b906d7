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
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
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

/// "vocab.json.tmp-1234", as write_file names the file that it has not finished.
bool is_half_written(std::string_view name) {
  constexpr std::string_view kMark = ".tmp-";
  const size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos || mark == 0 || mark + kMark.size() == name.size()) return false;
  return name.find_first_not_of("0123456789", mark + kMark.size()) == std::string_view::npos;
}

void remove_half_written(const std::string& folder) {
  std::error_code failed, ignored;
  std::vector<fs::path> left;
  for (const std::string& name : folder_names(folder, failed))
    if (const fs::path path = fs::path(folder) / name;
        is_half_written(name) && fs::is_regular_file(fs::symlink_status(path, ignored)))
      left.push_back(path);
  for (const fs::path& path : left)
    if (fs::remove(path, failed); failed)
      raise(ErrorKind::io, "{}: cannot remove: {}", path.string(), failed.message());
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

RunFolder::RunFolder(std::string path, Start start, Role role)
    : path_(std::move(path)), resumes_(start == Start::resume) {
  if (path_.empty()) raise(ErrorKind::config, "run folder: its path is empty");
  std::error_code failed;
  if (role == Role::reader) {
    if (!fs::is_directory(path_, failed))
      raise(ErrorKind::io, "{}: this rank does not see the folder that rank 0 writes in", path_);
    return;
  }
  fs::create_directories(path_, failed);
  if (failed) raise(ErrorKind::io, "{}: cannot make the folder: {}", path_, failed.message());
  lock_ = locked(path_);
  try {
    const auto trace = trace_of_run(path_);
    if (trace && start == Start::fresh)
      raise(ErrorKind::io,
            "{} holds another run ({}): resume it (--resume), overwrite it (--overwrite), or choose another folder",
            path_, *trace);
    if (start != Start::fresh) remove_half_written(path_);
    replaces_ = trace && start == Start::overwrite;
    if (replaces_) {
      remove_checkpoints_except(path_, {});
      for (const char* name : {"log.jsonl", kRunCommand})
        if (fs::remove(file(name), failed); failed)
          raise(ErrorKind::io, "{}: cannot remove: {}", file(name), failed.message());
    }
  } catch (...) {
    close(lock_);
    throw;
  }
}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

std::shared_ptr<RunFolder> open_run_folder(const std::shared_ptr<Communicator>& ranks, const std::string& path,
                                           Start start) {
  Communicator& all = ranks_or_alone(ranks);
  std::shared_ptr<RunFolder> folder;
  if (all.leads()) folder = std::make_shared<RunFolder>(path, start);
  meet(all);
  if (!folder) folder = std::make_shared<RunFolder>(path, start, RunFolder::Role::reader);
  return folder;
}

}  // namespace tape::train
