#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tape {

/// Physical memory of this machine in bytes.
int64_t physical_memory();

/// Memory limit in bytes that control groups put on this process: the smallest limit of its group and its parents
/// (memory.max in version 2, memory.limit_in_bytes in version 1). Returns nullopt if none is set. `root` is the folder
/// that contains proc/ and sys/, "" for the real ones.
std::optional<int64_t> cgroup_memory_limit(const std::string& root = {});

}  // namespace tape
