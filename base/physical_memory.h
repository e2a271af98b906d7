#pragma once

#include <cstdint>

namespace tape {

/// Bytes of memory that this machine has.
int64_t physical_memory();

}  // namespace tape
