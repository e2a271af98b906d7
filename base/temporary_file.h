#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "non_copyable.h"

namespace tape {

/// An unnamed file that disappears with the object or the process. It is created by the first append(), in TMPDIR or,
/// if that is not set, in /var/tmp (since /tmp may be in memory). Throws Error (io) with that folder's name.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;

  int64_t size() const { return size_; }
  void append(std::string_view bytes);
  /// Reads exactly `bytes` bytes at a position. Safe from several threads while nothing is appended.
  void read(int64_t position, void* to, int64_t bytes) const;

 private:
  int descriptor_ = -1;
  int64_t size_ = 0;
};

/// A new folder in TMPDIR, or in /tmp if TMPDIR is not set, that disappears with the object. Throws Error (io) with the
/// name of TMPDIR or /tmp.
class ScratchFolder : NonCopyable {
 public:
  ScratchFolder();
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tape
