#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "../memory.h"
#include "context.h"

namespace tape::cuda_device {

/// Caching allocator of one device, in one range of reserved addresses.
///
/// A request takes the lowest free range that it fits in, and neighboring free ranges are merged. Addresses are
/// therefore a function of what is allocated, so that a training step gets the same ones each time. Memory is mapped
/// page by page where it is first needed and kept until trim(). All work of a device is in one stream, so freed memory
/// can be reused at once.
///
/// With TAPE_CUDA_NO_MEMORY_CACHING=1 each request is an allocation of the driver instead, which is freed before the
/// next request, so that tools such as compute-sanitizer know the bounds of every tensor. That waits for the device
/// after each deallocation.
class MemoryPool : NonCopyable {
 public:
  explicit MemoryPool(Context& context);
  ~MemoryPool();

  /// Allocates at least `bytes` bytes, aligned to 512 (without caching, as the driver does), and sets `capacity` to the
  /// number to pass to free(). Throws Error (out_of_memory) if the limit or the device refuses.
  void* allocate(int64_t bytes, int64_t& capacity);
  /// The same for blocks of one size, each as far from the one before; anywhere without caching.
  void allocate_adjacent(int64_t bytes, std::span<void*> blocks, int64_t& capacity);
  void free(void* pointer, int64_t capacity) noexcept;
  bool contains(const void* address) const;

  MemoryStats stats();
  void reset_peak();
  void set_limit(int64_t bytes);
  /// Returns all pages without live data to the device.
  void trim();

 private:
  using Addresses = std::set<uint64_t>;
  struct Range {
    int64_t bytes;
    bool free;
    Addresses::node_type place = {};  // its node of a free list while in use, so that freeing it allocates nothing
  };
  using Ranges = std::map<uint64_t, Range>;

  void* allocate_uncached(int64_t bytes, int64_t& capacity);
  void release_freed();
  void check_limit(int64_t bytes);
  Ranges::iterator take(int64_t bytes, int64_t needed);
  void count_request(int64_t capacity);
  Ranges::iterator lowest_free(int64_t bytes);
  void split(Ranges::iterator range, int64_t bytes);
  void add_free(Ranges::iterator range, Addresses::node_type place);
  Addresses::node_type remove_free(Ranges::iterator range);
  Ranges::iterator merge_neighbors(Ranges::iterator range);
  bool map_pages(uint64_t address, int64_t bytes);
  bool map_page(size_t page);
  void unmap_unused_pages();
  void inform(uint64_t address, int64_t bytes, int64_t capacity);
  [[noreturn]] void refuse(int64_t bytes);

  Context& context_;
  mutable std::mutex mutex_;
  uint64_t begin_ = 0;                     // of the reserved addresses
  int64_t page_bytes_ = 0;                 // of a page
  std::vector<unsigned long long> pages_;  // the driver's handle of each page, 0 if it is not mapped
  Ranges ranges_;                          // all of the reserved addresses
  std::array<Addresses, 64> free_;         // free ranges by the binary logarithm of their size
  std::map<uint64_t, int64_t> uncached_;   // sizes of allocations of the driver's
  std::vector<uint64_t> freed_;            // those that are no longer in use
  int64_t mapped_bytes_ = 0;               // total size of mapped pages
  int64_t limit_ = int64_t{1} << 62;
  MemoryStats stats_;
};

}  // namespace tape::cuda_device
