#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tape::train {

/// Writes MANIFEST.json into a folder: name, size and XXH3-64 (16 hexadecimal digits) of every other file in it. Each
/// file is flushed to disk first, then the manifest, then the folder. Throws Error (io); Error (config) for an entry
/// that is not a regular file.
void write_manifest(const std::string& folder);

/// Remembers which folders' files were verified. Valid only while nobody else writes there (see RunFolder).
class VerifiedManifests {
 public:
  /// Verifies every file that a folder's MANIFEST.json lists, once while the MANIFEST is unchanged, and that it lists
  /// the `needed` ones. Throws Error (format) or (io) naming what is broken; a name outside of the folder is rejected
  /// before anything is read.
  void check(const std::string& folder, const std::vector<std::string>& needed);

 private:
  std::map<std::string, std::string> whole_;  // contents of each folder's MANIFEST
};

/// Flushes a file or folder to disk. Throws Error (io).
void flush_to_disk(const std::string& path);

/// XXH3-64 of a file's bytes. Throws Error (io).
uint64_t file_checksum(const std::string& path);

}  // namespace tape::train
