#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tape {

/// A regular file opened for positional reads. Throws Error (io) with the file's name and the system's message.
class InputFile {
 public:
  /// Rejects folders, pipes and devices; never blocks on a FIFO.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }  ///< as passed to the constructor
  /// Size in bytes when the file was opened.
  int64_t size() const { return size_; }
  /// Reads exactly `bytes` bytes at a position. Throws Error (io) at end of file, for instance if the file has shrunk.
  void read(int64_t position, void* to, int64_t bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

/// Returns the whole content of a regular file. Errors as for InputFile.
std::string read_text(const std::string& path);

/// Atomically replaces a file with the concatenated parts: writes a temporary file, flushes it to disk and renames it,
/// so that a kill at any moment leaves either the old file or the new one. Error (io) leaves the old file and removes
/// the temporary one. Symbolic links are followed and their target replaced. Devices, FIFOs and open descriptors
/// (/dev/stdout) are written directly.
/// @{
void write_file(const std::string& path, std::span<const std::string_view> parts);
void write_file(const std::string& path, std::string_view text);
/// @}
/// Writes one part of a file.
using Writer = std::function<void(std::string_view part)>;
/// Same for parts produced on the fly: calls `give` once with a function that writes one part.
void write_file(const std::string& path, const std::function<void(const Writer& write)>& give);

/// Creates a folder and its missing parents. Throws Error (io) `path: system message`.
void make_folder(const std::string& path);
/// Writes a file in a folder and creates the folder if needed.
void write_in_folder(const std::string& folder, const std::string& name, std::string_view content);

/// Throws Error (io) `path: cannot action: system message for errno`.
[[noreturn]] void raise_errno(const std::string& path, const char* action, int number);

}  // namespace tape
