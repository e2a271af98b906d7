#include "base/folder.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>

namespace tape {
namespace {

std::error_code last_error() {
  if (errno == ENOMEM) throw std::bad_alloc();
  return {errno, std::generic_category()};
}

}  // namespace

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

}  // namespace tape
