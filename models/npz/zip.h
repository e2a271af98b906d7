#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../base/file.h"

namespace tape {

/// A file inside a zip archive.
struct ZipEntry {
  std::string name;
  int64_t size = 0;    ///< uncompressed size in bytes
  int64_t stored = 0;  ///< size in the archive
  int64_t start = 0;   ///< position of the data in the archive
  uint32_t checksum = 0;
  bool deflated = false;
};

/// Returns the entries of an archive, sorted by name. Checks the whole directory before anything is unpacked: entries
/// must be inside the file, must not overlap, must be stored or deflated, not encrypted, and at most 1032 times as
/// large as their compressed data, the maximum for deflate. Throws Error (format) with the file, the entry and the
/// reason, also for duplicate names and archives split over several files. Supports zip64.
std::vector<ZipEntry> read_zip_directory(const InputFile& file);

/// Reads one entry sequentially.
class ZipEntryReader {
 public:
  ZipEntryReader(const InputFile& file, const ZipEntry& entry);
  ~ZipEntryReader();
  ZipEntryReader(const ZipEntryReader&) = delete;
  ZipEntryReader& operator=(const ZipEntryReader&) = delete;

  int64_t size() const { return entry_.size; }
  /// Reads the next `bytes` bytes. Throws Error (format) if the content is shorter or cannot be decompressed.
  void read(void* to, int64_t bytes);
  /// Throws Error (format) unless the content ends here and its checksum matches.
  void finish();

 private:
  struct Inflate;
  int64_t read_stored(char* to, int64_t bytes);
  int64_t read_deflated(char* to, int64_t bytes);

  const InputFile& file_;
  const ZipEntry entry_;
  int64_t read_ = 0;  // uncompressed bytes read so far
  uint32_t checksum_ = 0;
  std::unique_ptr<Inflate> inflate_;
};

/// An entry to write: its name and its content as consecutive parts.
struct ZipContent {
  std::string name;
  std::vector<std::string_view> parts;
};

/// Replaces a file with an archive, as write_file() does. Throws Error (config) for more than 65534 entries or 4 GiB.
void write_zip(const std::string& path, const std::vector<ZipContent>& contents, bool deflated);

}  // namespace tape
