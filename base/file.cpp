#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/transfer.h"

namespace tape {
namespace {

/// The file that becomes the new one; removed unless it was.
class FileBeside {
 public:
  explicit FileBeside(const std::string& path) : path_(path), beside_(fmt::format("{}.tmp-{}", path, getpid())) {
    descriptor_ = open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) raise_errno(path_, "create the file", errno);
  }
  ~FileBeside() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!beside_.empty()) unlink(beside_.c_str());
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  void append(std::string_view part) {
    if (!write_all(descriptor_, part)) raise_errno(path_, "write", errno);
  }

  void replace() {
    if (fsync(descriptor_) != 0) raise_errno(path_, "flush to disk", errno);
    const int closed = close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) raise_errno(path_, "close", errno);
    if (rename(beside_.c_str(), path_.c_str()) != 0) raise_errno(path_, "rename the new file to it", errno);
    beside_.clear();
    flush_folder();
  }

 private:
  /// The rename itself is on disk only when the folder is.
  void flush_folder() {
    const std::string parent = std::filesystem::path(path_).parent_path().string();
    const char* folder = parent.empty() ? "." : parent.c_str();
    const int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;  // a folder that may be written but not read
    const int failed = fsync(opened) != 0 ? errno : 0;
    close(opened);
    // File systems without folders on disk say EINVAL.
    if (failed != 0 && failed != EINVAL) raise_errno(folder, "flush the folder to disk", failed);
  }

  const std::string& path_;
  std::string beside_;
  int descriptor_ = -1;
};

}  // namespace

void raise_errno(const std::string& path, const char* action, int number) {
  raise(ErrorKind::io, "{}: cannot {}: {}", path, action, std::generic_category().message(number));
}

InputFile::InputFile(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) raise_errno(path, "open", errno);
  struct stat status {};
  const int failed = fstat(descriptor_, &status) != 0 ? errno : 0;
  if (failed == 0 && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  close(descriptor_);
  if (failed != 0) raise_errno(path, "ask for its size", failed);
  if (S_ISDIR(status.st_mode)) raise_errno(path, "read", EISDIR);
  raise(ErrorKind::io, "{}: cannot read: not a regular file", path);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(int64_t position, void* to, int64_t bytes) const {
  const int64_t got = read_all(descriptor_, position, to, bytes);
  if (got < 0) raise_errno(path_, "read", errno);
  if (got < bytes)
    raise(ErrorKind::io, "{}: the file ends at byte {}, it had {} bytes when it was opened", path_, position + got,
          size_);
}

std::string read_text(const std::string& path) {
  const InputFile file(path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return text;
}

void write_file(const std::string& path, std::span<const std::string_view> parts) {
  write_file(path, [parts](const Writer& write) {
    for (std::string_view part : parts) write(part);
  });
}

void write_file(const std::string& path, const std::function<void(const Writer& write)>& give) {
  FileBeside file(path);
  give([&file](std::string_view part) { file.append(part); });
  file.replace();
}

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) raise(ErrorKind::io, "{}: {}", path, failed.message());
}

}  // namespace tape
