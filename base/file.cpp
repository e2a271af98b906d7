#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/output_file.h"
#include "base/transfer.h"

namespace tape {
void raise_errno(const std::string& path, const char* action, int number) {
  raise(ErrorKind::io, "{}: cannot {}: {}", path, action, std::generic_category().message(number));
}

InputFile::InputFile(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) raise_errno(path, "open", errno);
  struct stat status {};
  const int failed = fstat(descriptor_, &status) != 0 ? errno : 0;
  if (failed == 0 && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  close(descriptor_);
  if (failed != 0) raise_errno(path, "get its size", failed);
  if (S_ISDIR(status.st_mode)) raise_errno(path, "read", EISDIR);
  raise(ErrorKind::io, "{}: cannot read: not a regular file", path);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(int64_t position, void* to, int64_t bytes) const {
  const int64_t got = read_all(descriptor_, position, to, bytes);
  if (got < 0) raise_errno(path_, "read", errno);
  if (got < bytes)
    raise(ErrorKind::io, "{}: the file ends at byte {} but had {} bytes when it was opened", path_, position + got,
          size_);
}

std::string read_text(const std::string& path) {
  const InputFile file(path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return text;
}

void write_file(const std::string& path, std::span<const std::string_view> parts) {
  write_file(path, [parts](const Writer& write) {
    for (std::string_view part : parts) write(part);
  });
}

void write_file(const std::string& path, std::string_view text) { write_file(path, {&text, 1}); }

void write_file(const std::string& path, const std::function<void(const Writer& write)>& give) {
  OutputFile file(path);
  give([&file](std::string_view part) { file.append(part); });
  file.finish();
}

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) raise(ErrorKind::io, "{}: {}", path, failed.message());
}

void write_in_folder(const std::string& folder, const std::string& name, std::string_view content) {
  make_folder(folder);
  write_file(fmt::format("{}/{}", folder, name), content);
}

}  // namespace tape
