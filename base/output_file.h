#pragma once

#include <string>
#include <string_view>

namespace tape {

/// The output of write_file(). Follows symbolic links. A regular or new file is written as a temporary file in the
/// same folder, which finish() renames to the target; until then the target is unchanged. A device, FIFO, socket or
/// open descriptor (/dev/stdout, /proc/self/fd/1) is written directly.
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
  void open_temporary();
  void flush_folder() const;

  const std::string& path_;     // as given, for messages
  std::string target_;          // after following links
  std::string temporary_path_;  // temporary file; removed unless renamed
  int descriptor_ = -1;
};

}  // namespace tape
