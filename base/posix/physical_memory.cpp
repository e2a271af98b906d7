#include "base/physical_memory.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

namespace tape {
namespace {

/// The number in a file, or nullopt for "max" or a missing file.
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// Lowers `least` to the smallest limit of a group and its parents. A container that sees its path on the host but not
/// that folder has its own limit at the root.
void lower_to_limits(const std::string& mount, std::string_view group, const char* file,
                     std::optional<int64_t>& least) {
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    const auto limit = number_in(mount + std::string(group) + "/" + file);
    if (limit && (!least || *limit < *least)) least = limit;
    if (group.empty()) return;
    group = group.substr(0, group.rfind('/') + 1);
  }
}

}  // namespace

int64_t physical_memory() { return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE); }

std::optional<int64_t> cgroup_memory_limit(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::optional<int64_t> least;
  // Lines are "number:controllers:/group"; the version 2 line has no controllers.
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (controllers == ",,") {
      for (const char* place : {"", "/unified"}) lower_to_limits(mount + place, group, "memory.max", least);
    } else if (controllers.find(",memory,") != std::string::npos) {
      lower_to_limits(mount + "/memory", group, "memory.limit_in_bytes", least);
    }
  }
  return least;
}

}  // namespace tape
