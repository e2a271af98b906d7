#include "base/path.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"

namespace tape {
namespace {

namespace fs = std::filesystem;

void check(const std::error_code& failed, const std::string& path, const char* action) {
  if (failed) raise(ErrorKind::io, "{}: cannot {}: {}", path, action, failed.message());
}

fs::file_status status_of(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() != fs::file_type::not_found) check(failed, path, "access the file");
  return status;
}

bool begins_with(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

std::error_code last_error() {
  if (errno == ENOMEM) throw std::bad_alloc();
  return {errno, std::generic_category()};
}

/// Returns ENTRY/blobs for ENTRY/snapshots/REVISION and its subfolders, and an empty path for other folders.
fs::path blobs_of(const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path())
    if (at.parent_path().filename() == "snapshots") return at.parent_path().parent_path() / "blobs";
  return {};
}

}  // namespace

std::string join_path(std::string_view folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

bool path_exists(const std::string& path) { return fs::exists(status_of(path)); }

bool is_folder(const std::string& path) { return fs::is_directory(status_of(path)); }

int64_t file_bytes(const std::string& path) { return InputFile(path).size(); }

std::vector<std::string> folder_entries(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> names = folder_names(folder, failed);
  check(failed, folder, "list the folder");
  return names;
}

std::vector<std::string> folder_names(const std::string& path, std::error_code& failed) {
  failed.clear();
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) {
    failed = last_error();
    return names;
  }
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(folder.get());
    if (!entry) break;
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) {
    failed = last_error();
    return {};
  }
  std::sort(names.begin(), names.end());
  return names;
}

void remove_all(const std::string& path, std::error_code& failed) {
  failed.clear();
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) failed = last_error();
    return;
  }
  if (!S_ISDIR(found.st_mode)) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) failed = last_error();
    return;
  }
  std::error_code first;
  for (const std::string& name : folder_names(path, first)) {
    std::error_code inside;
    remove_all(path + "/" + name, inside);
    if (!first) first = inside;
  }
  if (!first && rmdir(path.c_str()) != 0 && errno != ENOENT) first = last_error();
  failed = first;
}

void remove_path(const std::string& path) {
  std::error_code failed;
  fs::remove(path, failed);
  check(failed, path, "remove");
}

void remove_tree(const std::string& path) {
  std::error_code failed;
  remove_all(path, failed);
  check(failed, path, "remove");
}

void rename_path(const std::string& from, const std::string& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  check(failed, from, "rename");
}

std::string canonical_path(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed);
  check(failed, path, "resolve the path");
  fs::path canonical = fs::weakly_canonical(absolute, failed);
  // /proc/self/fd/1 is a link to "pipe:[1234]", which is not a path.
  if (failed == std::errc::no_such_file_or_directory)
    canonical = absolute.lexically_normal();
  else
    check(failed, path, "resolve the path");
  // "runs/book/" and "runs/book" are the same folder.
  return canonical.has_filename() ? canonical.string() : canonical.parent_path().string();
}

bool is_inside(const std::string& path, const std::string& folder) {
  return begins_with(canonical_path(path), canonical_path(folder));
}

std::string file_in_folder(const std::string& folder, std::string_view name) {
  std::string path = join_path(folder, name);
  const fs::path root = canonical_path(folder), file = canonical_path(path);
  if (begins_with(file, root)) return path;
  if (const fs::path blobs = blobs_of(root); !blobs.empty() && begins_with(file, blobs)) return path;
  raise(ErrorKind::format, "{}: is a link that leaves the folder; copy the file there", path);
}

bool folder_has(const std::string& folder, std::string_view name) {
  const std::string path = join_path(folder, name);
  return path_exists(path) && !file_in_folder(folder, name).empty();
}

}  // namespace tape
