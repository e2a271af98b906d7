#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tape {

/// A regular file open for reading by position. Errors are Error (io) with the file's name and the system's text.
class InputFile {
 public:
  /// Refuses folders, pipes and devices; does not wait for a writer.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Bytes when it was opened.
  int64_t size() const { return size_; }
  /// Fills `to` from a position; Error (io) where the file ends before, as it does when it shrinks while it is read.
  void read(int64_t position, void* to, int64_t bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

/// The whole content of a regular file. Errors as InputFile's.
std::string read_text(const std::string& path);

/// Replaces a file by the parts, one behind the other: written beside, flushed to disk and renamed, so that a kill at
/// any moment leaves the old file or the new one. Error (io) leaves the old file and nothing beside it. A link is
/// followed and its target replaced. Devices, FIFOs and open descriptors (/dev/stdout) are written directly.
void write_file(const std::string& path, std::span<const std::string_view> parts);
void write_file(const std::string& path, std::string_view text);
/// The same with parts that are made as they are written: `give` is called once, and calls what it is given with each.
using Writer = std::function<void(std::string_view part)>;
void write_file(const std::string& path, const std::function<void(const Writer& write)>& give);

/// Makes a folder and those it lies in, where they are not there. Error (io) `path: what the system says`.
void make_folder(const std::string& path);
/// Writes a file of a folder, which is made where it is missing.
void write_in_folder(const std::string& folder, const std::string& name, std::string_view content);

/// Throws Error (io) `path: cannot action: what the system says of that errno`.
[[noreturn]] void raise_errno(const std::string& path, const char* action, int number);

}  // namespace tape
