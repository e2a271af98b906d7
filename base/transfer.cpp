#include "base/transfer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tape {
namespace {

/// Linux transfers at most 2^31 - 4096 bytes per call.
constexpr int64_t kMaxTransfer = 1 << 30;

}  // namespace

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), std::min(bytes.size(), static_cast<size_t>(kMaxTransfer)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int64_t read_all(int descriptor, int64_t position, void* to, int64_t bytes) {
  char* const begin = static_cast<char*>(to);
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(descriptor, begin + done, static_cast<size_t>(std::min(bytes - done, kMaxTransfer)), position + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace tape
