#include "base/pages.h"

#include <cstdlib>

namespace tape {

// WebAssembly's memory grows and never shrinks.

void* map_pages(int64_t bytes) {
  constexpr int64_t kPage = 4096;
  return std::aligned_alloc(kPage, static_cast<size_t>((bytes + kPage - 1) / kPage * kPage));
}

void drop_pages(void*, int64_t) {}

int64_t bytes_per_reservation() { return int64_t{16} << 20; }

}  // namespace tape
