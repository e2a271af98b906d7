#pragma once

#include <cstdint>
#include <string_view>

namespace tape {

/// A file without a name, which is gone with the object or the process, in the folder TMPDIR, or in /var/tmp where that
/// is not set (/tmp may be memory). It is made by the first append(). Errors are Error (io) with that folder.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;

  int64_t size() const { return size_; }
  void append(std::string_view bytes);
  /// Fills `to` from a position. Reads from several threads at once, while nothing is appended.
  void read(int64_t position, void* to, int64_t bytes) const;

 private:
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace tape
