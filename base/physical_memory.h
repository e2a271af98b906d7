#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tape {

/// Bytes of memory that this machine has.
int64_t physical_memory();

/// Bytes that the control groups of this process let it use: the least limit of its own and of those above them
/// (memory.max of version 2, memory.limit_in_bytes of version 1). Nothing where none is set. `root` is the folder that
/// has proc/ and sys/, "" for the machine's own.
std::optional<int64_t> control_group_limit(const std::string& root = {});

}  // namespace tape
