#pragma once

#include <cstdint>

namespace tape {

/// Reserves memory aligned to 4096 bytes that lasts as long as the process. Physical memory is used only where it is
/// touched, if the system can do that. Returns null if the system refuses.
void* map_pages(int64_t bytes);

/// Returns the physical memory of mapped pages to the system, if it can do that. Their contents are lost.
void drop_pages(void* pages, int64_t bytes);

/// Number of bytes to reserve at once: physical memory where a reservation costs nothing, little elsewhere.
int64_t bytes_per_reservation();

}  // namespace tape
