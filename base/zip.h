#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "file.h"

namespace tape {

/// A file inside of a zip archive.
struct ZipEntry {
  std::string name;
  int64_t size = 0;    ///< of its content
  int64_t stored = 0;  ///< bytes that it takes in the archive
  int64_t start = 0;   ///< of these in the archive
  uint32_t checksum = 0;
  bool deflated = false;
};

/// The entries of an archive, in the order of their names. All of the directory is checked before anything is unpacked:
/// entries lie within the file and apart from each other, are stored or deflated, not encrypted, and no more than 1032
/// times as large as what they are unpacked from, which is all that deflating can do. Error (format) names the file,
/// the entry and what is wrong, an entry that is there twice among it; archives of several files are refused. Zip64 is
/// read.
std::vector<ZipEntry> read_zip_directory(const InputFile& file);

/// Reads one entry from its beginning to its end.
class ZipEntryReader {
 public:
  ZipEntryReader(const InputFile& file, const ZipEntry& entry);
  ~ZipEntryReader();
  ZipEntryReader(const ZipEntryReader&) = delete;
  ZipEntryReader& operator=(const ZipEntryReader&) = delete;

  int64_t size() const { return entry_.size; }
  /// The next bytes. Error (format) where the content ends before them, or cannot be unpacked.
  void read(void* to, int64_t bytes);
  /// Error (format) where the content does not end here, or its checksum is another.
  void finish();

 private:
  struct Inflate;
  int64_t read_stored(char* to, int64_t bytes);
  int64_t read_deflated(char* to, int64_t bytes);

  const InputFile& file_;
  const ZipEntry entry_;
  int64_t read_ = 0;  // of the content
  uint32_t checksum_ = 0;
  std::unique_ptr<Inflate> inflate_;
};

/// What is put into an archive: a name, and content in parts that lie one behind the other.
struct ZipContent {
  std::string name;
  std::vector<std::string_view> parts;
};

/// Replaces a file by an archive, as write_file() does. Error (config) for more than 65534 entries, or 4 GiB of them.
void write_zip(const std::string& path, const std::vector<ZipContent>& contents, bool deflated);

}  // namespace tape
