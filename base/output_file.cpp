#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/transfer.h"

namespace tape {
namespace {

namespace fs = std::filesystem;

/// Resolves symbolic links; the final target need not exist. Returns "" for a link inside /proc, which represents an
/// open file that may have no path.
std::string resolve_links(const std::string& path) {
  constexpr int kMaxLinks = 40;  // Linux's limit
  fs::path at = path;
  for (int links = 0; links < kMaxLinks; ++links) {
    std::error_code failed;
    if (!fs::is_symlink(fs::symlink_status(at, failed))) return at.string();
    const fs::path folder = fs::canonical(at.has_parent_path() ? at.parent_path() : ".", failed);
    if (!failed && folder.string().starts_with("/proc/")) return "";
    const fs::path to = fs::read_symlink(at, failed);
    if (failed) raise_errno(path, "follow the link", failed.value());
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  raise_errno(path, "create the file", ELOOP);
}

bool is_written_directly(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(resolve_links(path)) {
  if (!target_.empty() && !is_written_directly(target_)) {
    open_temporary();
    return;
  }
  descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor_ < 0) raise_errno(path_, "open", errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void OutputFile::open_temporary() {
  const std::string beside = fmt::format("{}.tmp-{}", target_, getpid());
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  descriptor_ = open(beside.c_str(), kFlags, 0644);
  // Left by a killed process with the same process ID, or a link that someone placed there.
  if (descriptor_ < 0 && errno == EEXIST && unlink(beside.c_str()) == 0)
    descriptor_ = open(beside.c_str(), kFlags, 0644);
  if (descriptor_ < 0) raise_errno(path_, "create the file", errno);
  temporary_path_ = beside;
}

void OutputFile::append(std::string_view part) {
  if (!write_all(descriptor_, part)) raise_errno(path_, "write", errno);
}

void OutputFile::finish() {
  // Devices and pipes have nothing to flush: fsync fails with EINVAL (or EROFS).
  const bool direct = temporary_path_.empty();
  if (fsync(descriptor_) != 0 && !(direct && (errno == EINVAL || errno == EROFS)))
    raise_errno(path_, "flush to disk", errno);
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) raise_errno(path_, "close", errno);
  if (direct) return;
  if (rename(temporary_path_.c_str(), target_.c_str()) != 0)
    raise_errno(path_, "rename the temporary file to it", errno);
  temporary_path_.clear();
  flush_folder();
}

/// Makes the rename itself durable.
void OutputFile::flush_folder() const {
  const std::string parent = fs::path(target_).parent_path().string();
  const char* folder = parent.empty() ? "." : parent.c_str();
  const int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;  // the folder may be writable but not readable
  const int failed = fsync(opened) != 0 ? errno : 0;
  close(opened);
  // File systems that cannot flush a folder fail with EINVAL.
  if (failed != 0 && failed != EINVAL) raise_errno(folder, "flush the folder to disk", failed);
}

}  // namespace tape
