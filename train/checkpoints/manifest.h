#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tape::train {

/// Writes MANIFEST.json into a folder: name, bytes and XXH3-64 (as 16 hexadecimal digits) of every other file in it.
/// Each file is flushed to disk first, then the manifest, then the folder. Error (io); Error (config) for what is no
/// regular file.
void write_manifest(const std::string& folder);

/// Remembers whose files have been read and found whole, for as long as nobody else writes there (see RunFolder).
class CheckedManifests {
 public:
  /// Checks every file that a folder's MANIFEST.json lists, once as long as the MANIFEST stays what it was, and that it
  /// lists the `needed` ones. Error (format) or (io) naming what is broken; a name that leaves the folder is refused
  /// before anything is read.
  void check(const std::string& folder, const std::vector<std::string>& needed);

 private:
  std::map<std::string, std::string> whole_;  // the MANIFEST of each folder
};

/// Flushes a file or folder to disk. Error (io).
void flush_to_disk(const std::string& path);

/// XXH3-64 of a file's bytes. Error (io).
uint64_t file_checksum(const std::string& path);

}  // namespace tape::train
