#include "base/physical_memory.h"

namespace tape {

/// What browsers allow a 32-bit memory at least.
int64_t physical_memory() { return int64_t{2} << 30; }

std::optional<int64_t> cgroup_memory_limit(const std::string&) { return std::nullopt; }

}  // namespace tape
