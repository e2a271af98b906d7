#include "base/temporary_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/transfer.h"

namespace tape {
namespace {

std::string folder() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
}

int open_nameless() {
  const std::string where = folder();
  const int descriptor = open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  // Some file systems do not support O_TMPFILE.
  std::string name = where + "/tapeformer.XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) raise_errno(where, "create a temporary file in it", errno);
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
  if (!write_all(descriptor_, bytes)) raise_errno(folder(), "write a temporary file in it", errno);
  size_ += std::ssize(bytes);
}

void TemporaryFile::read(int64_t position, void* to, int64_t bytes) const {
  const int64_t got = read_all(descriptor_, position, to, bytes);
  if (got < 0) raise_errno(folder(), "read a temporary file in it", errno);
  if (got < bytes) raise(ErrorKind::io, "{}: a temporary file in it ends at byte {}", folder(), position + got);
}

ScratchFolder::ScratchFolder() {
  const char* const chosen = std::getenv("TMPDIR");
  const std::string where = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  path_ = join_path(where, "tapeformer.XXXXXX");
  if (mkdtemp(path_.data()) == nullptr) raise_errno(where, "create a temporary folder in it", errno);
}

ScratchFolder::~ScratchFolder() {
  try {
    remove_tree(path_);
  } catch (...) {  // leaves the folder behind
  }
}

}  // namespace tape
