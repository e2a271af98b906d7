#include "base/pages.h"

#include <sys/mman.h>

#include "base/physical_memory.h"

namespace tape {

void* map_pages(int64_t bytes) {
  void* const pages = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  // Huge pages make the first touch several times cheaper; a refusal does no harm.
  madvise(pages, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return pages;
}

void drop_pages(void* pages, int64_t bytes) { madvise(pages, static_cast<size_t>(bytes), MADV_DONTNEED); }

int64_t bytes_per_reservation() { return physical_memory(); }

}  // namespace tape
