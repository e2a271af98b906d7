#include "base/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace tape {
namespace {

/// Linux moves at most 2^31 - 4096 bytes a call.
constexpr int64_t kMostAtOnce = 1 << 30;

std::string folder() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
}

int open_nameless() {
  const std::string where = folder();
  const int descriptor = open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  // Some file systems have none without a name.
  std::string name = where + "/tapeformer.XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) raise_errno(where, "make a temporary file in it", errno);
  unlink(name.c_str());
  return named;
}

}  // namespace

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(std::exchange(other.size_, 0)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

void TemporaryFile::append(std::string_view bytes) {
  if (descriptor_ < 0) descriptor_ = open_nameless();
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), std::min(bytes.size(), static_cast<size_t>(kMostAtOnce)), size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) raise_errno(folder(), "write a temporary file in it", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += written;
  }
}

void TemporaryFile::read(int64_t position, void* to, int64_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, at, static_cast<size_t>(std::min(bytes, kMostAtOnce)), position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) raise_errno(folder(), "read a temporary file in it", errno);
    if (got == 0) raise(ErrorKind::io, "{}: a temporary file in it ends at byte {}", folder(), position);
    at += got, position += got, bytes -= got;
  }
}

}  // namespace tape
