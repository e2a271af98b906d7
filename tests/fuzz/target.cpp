#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/utf8.h"
#include "tests/support/temporary_folder.h"

namespace tape::fuzz {

namespace {

Bytes current;  // input of the running target

/// Resets `current` at the end of a run, after which its owner may free the bytes.
struct Current {
  explicit Current(Bytes input) { current = input; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() { current = {}; }
};

}  // namespace

void Target::run(Bytes input) const {
  const Current read(input);
  function(input);
}

int64_t& accepted_inputs() {
  static int64_t count = 0;
  return count;
}

void expect_good_message(const Error& error) {
  constexpr std::string_view other = "json.exception";
  const std::string_view what = error.what();
  expect(!what.empty(), "an Error without a message");
  expect(what.find(other) == what.npos || text_of(current).find(other) != what.npos,
         "another library's name in a message: {}", what);
  if (what.size() > Error::kMaxBytes) expect(false, "a message of {} bytes: {}", what.size(), clipped(what, 300));
}

std::vector<std::string_view> parts_of(Bytes bytes) {
  constexpr std::string_view separator = "\n%%\n";
  std::vector<std::string_view> parts;
  std::string_view rest = text_of(bytes);
  for (size_t end; (end = rest.find(separator)) != std::string_view::npos;) {
    parts.push_back(rest.substr(0, end));
    rest.remove_prefix(end + separator.size());
  }
  parts.push_back(rest);
  return parts;
}

const std::string& empty_folder() {
  static const TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::remove_all(entry.path());
  return folder.path();
}

std::string put_file(const std::string& path, std::string_view content) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = file >= 0 && write(file, content.data(), content.size()) == std::ssize(content);
  if (file >= 0) close(file);
  if (!written) throw std::system_error(errno, std::generic_category(), path);
  return path;
}

}  // namespace tape::fuzz
