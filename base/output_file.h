#pragma once

#include <string>
#include <string_view>

namespace tape {

/// What write_file() writes to, by what its path leads to. Links are followed. A regular file, and one that is not
/// there yet, is written beside its place and renamed to it by finish(); before that nothing of it is changed. A
/// device, a FIFO, a socket or an open descriptor (/dev/stdout, /proc/self/fd/1) is written directly.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void append(std::string_view part);
  /// Flushes to disk, closes and renames.
  void finish();

 private:
  void open_beside();
  void flush_folder() const;

  const std::string& path_;  // as it is named, for messages
  std::string target_;       // where its links lead
  std::string beside_;       // the file that becomes the new one; removed unless it was
  int descriptor_ = -1;
};

}  // namespace tape
