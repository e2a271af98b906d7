#include "autograd/cuda/memory_pool.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "autograd/cuda/graph.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

constexpr int64_t kDeviceAlignment = 512;
/// Pages of the pool per smallest page of the driver: 16 MiB of 2 MiB each, since mapping one takes some 100 us.
constexpr int64_t kPagesAtOnce = 8;

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

size_t size_class(int64_t bytes) { return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(bytes) | 1) - 1); }

}  // namespace

MemoryPool::MemoryPool(Context& context) : context_(context) {
  const Driver& d = *context_.driver;
  AllocationProperties properties;
  properties.device = context_.device;
  size_t smallest = 0;
  check(d.mem_get_allocation_granularity(&smallest, &properties, 0), "cuMemGetAllocationGranularity");
  page_bytes_ = static_cast<int64_t>(smallest) * kPagesAtOnce;
  // Addresses cost nothing, and twice the memory leaves a large block a place in spite of fragmentation.
  const int64_t reserved = round_up(2 * context_.total_memory, page_bytes_);
  DevicePointer begin = 0;
  check(d.mem_address_reserve(&begin, static_cast<size_t>(reserved), 0, 0, 0), "cuMemAddressReserve");
  begin_ = begin;
  pages_.resize(static_cast<size_t>(reserved / page_bytes_));
  const auto all = ranges_.emplace(begin_, Range{reserved, true}).first;
  free_[size_class(reserved)].insert(all->first);
}

MemoryPool::~MemoryPool() = default;

bool MemoryPool::contains(const void* address) const {
  const auto value = reinterpret_cast<uint64_t>(address);
  if (!context_.caching) {
    const std::lock_guard lock(mutex_);
    return uncached_.count(value) != 0;
  }
  return value >= begin_ && value - begin_ < pages_.size() * static_cast<uint64_t>(page_bytes_);
}

void* MemoryPool::allocate(int64_t bytes, int64_t& capacity) {
  void* block = nullptr;
  allocate_adjacent(bytes, {&block, 1}, capacity);
  return block;
}

void MemoryPool::allocate_adjacent(int64_t bytes, std::span<void*> blocks, int64_t& capacity) {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<int64_t>(blocks.size());
  check_limit(count * bytes);
  if (!context_.caching) {
    for (void*& block : blocks) block = allocate_uncached(bytes, capacity);
    return;
  }
  capacity = round_up(std::max<int64_t>(bytes, 1) + context_.driver->guard_bytes, kDeviceAlignment);
  auto range = take(count * bytes, count * capacity);
  for (void*& block : blocks) {
    split(range, capacity);
    count_request(capacity);
    inform(range->first, bytes, capacity);
    block = reinterpret_cast<void*>(range->first);
    ++range;
  }
}

void MemoryPool::check_limit(int64_t bytes) {
  if (bytes > limit_ - stats_.live_bytes)
    raise(ErrorKind::out_of_memory, "cuda: {} bytes requested, {} bytes in use, limit {} bytes", bytes,
          stats_.live_bytes, limit_);
  if (bytes > context_.total_memory) refuse(bytes);
}

/// The lowest free range with space for `needed` bytes, which are mapped. `bytes` is the number in errors.
MemoryPool::Ranges::iterator MemoryPool::take(int64_t bytes, int64_t needed) {
  const auto range = lowest_free(needed);
  if (range == ranges_.end()) refuse(bytes);
  const int64_t mapped = mapped_bytes_;
  if (!map_pages(range->first, needed)) {
    unmap_unused_pages();
    if (!map_pages(range->first, needed)) {
      unmap_unused_pages();
      refuse(bytes);
    }
  }
  stats_.system_allocations += mapped_bytes_ != mapped;
  return range;
}

void MemoryPool::free(void* pointer, int64_t capacity) noexcept {
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  inform(address, 0, capacity);
  if (!context_.caching) {
    stats_.live_bytes -= capacity;
    freed_.push_back(address);
    return;
  }
  const auto range = ranges_.find(address);
  Addresses::node_type place = std::move(range->second.place);
  stats_.live_bytes -= range->second.bytes;
  add_free(merge_neighbors(range), std::move(place));
}

void MemoryPool::count_request(int64_t capacity) {
  ++stats_.requests;
  stats_.live_bytes += capacity;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
}

void* MemoryPool::allocate_uncached(int64_t bytes, int64_t& capacity) {
  release_freed();
  freed_.reserve(uncached_.size() + 1);  // so that freeing all of it allocates nothing
  capacity = std::max<int64_t>(bytes, 1);
  const Driver& d = *context_.driver;
  DevicePointer address = 0;
  const Result allocated = d.mem_alloc(&address, static_cast<size_t>(capacity));
  if (allocated == result::out_of_memory) refuse(bytes);
  check(allocated, "cuMemAlloc");
  uncached_.emplace(address, capacity);
  mapped_bytes_ += capacity;
  count_request(capacity);
  ++stats_.system_allocations;
  inform(address, bytes, capacity);
  return reinterpret_cast<void*>(address);
}

/// Returns freed allocations to the driver.
void MemoryPool::release_freed() {
  if (freed_.empty()) return;
  const Driver& d = *context_.driver;
  // Kernels that were launched may still use them.
  flush_work(context_, ListEnd::other);
  check(d.stream_synchronize(context_.stream), "cuMemFree");
  for (; !freed_.empty(); freed_.pop_back()) {
    check(d.mem_free(freed_.back()), "cuMemFree");
    const auto allocation = uncached_.find(freed_.back());
    mapped_bytes_ -= allocation->second;
    uncached_.erase(allocation);
  }
}

/// Informs an emulated device of an allocation, in the order of the work.
void MemoryPool::inform(uint64_t address, int64_t bytes, int64_t capacity) {
  const Driver& d = *context_.driver;
  if (!d.set_allocated) return;
  if (context_.collector) {
    context_.collector->add_allocation(address, static_cast<size_t>(bytes), static_cast<size_t>(capacity));
  } else {
    d.set_allocated(address, static_cast<size_t>(bytes), static_cast<size_t>(capacity));
  }
}

MemoryStats MemoryPool::stats() {
  const std::lock_guard lock(mutex_);
  MemoryStats stats = stats_;
  stats.cached_bytes = mapped_bytes_ - stats_.live_bytes;
  return stats;
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

void MemoryPool::set_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void MemoryPool::trim() {
  const std::lock_guard lock(mutex_);
  release_freed();
  unmap_unused_pages();
}

/// The free range with the lowest address among those of at least this size.
MemoryPool::Ranges::iterator MemoryPool::lowest_free(int64_t bytes) {
  uint64_t lowest = ~uint64_t{0};
  const size_t smallest = size_class(bytes);
  // A range of the same class may be too small, those of larger classes are not.
  for (const uint64_t address : free_[smallest]) {
    if (ranges_.at(address).bytes < bytes) continue;
    lowest = address;
    break;
  }
  for (size_t larger = smallest + 1; larger < free_.size(); ++larger)
    if (!free_[larger].empty()) lowest = std::min(lowest, *free_[larger].begin());
  return lowest == ~uint64_t{0} ? ranges_.end() : ranges_.find(lowest);
}

/// Takes the first bytes of a free range; the rest remains free.
void MemoryPool::split(Ranges::iterator range, int64_t bytes) {
  const int64_t rest = range->second.bytes - bytes;
  if (rest > 0) {
    // Allocate first: nothing below can fail.
    Addresses one{range->first + static_cast<uint64_t>(bytes)};
    const auto remainder = ranges_.emplace(*one.begin(), Range{rest, true}).first;
    range->second.place = remove_free(range);
    range->second.bytes = bytes;
    add_free(remainder, one.extract(one.begin()));
  } else {
    range->second.place = remove_free(range);
  }
  range->second.free = false;
}

void MemoryPool::add_free(Ranges::iterator range, Addresses::node_type place) {
  range->second.free = true;
  place.value() = range->first;
  free_[size_class(range->second.bytes)].insert(std::move(place));
}

MemoryPool::Addresses::node_type MemoryPool::remove_free(Ranges::iterator range) {
  return free_[size_class(range->second.bytes)].extract(range->first);
}

/// Merges a range that becomes free with the free ranges next to it. Returns the whole, which is in no free list.
MemoryPool::Ranges::iterator MemoryPool::merge_neighbors(Ranges::iterator range) {
  if (const auto next = std::next(range); next != ranges_.end() && next->second.free) {
    remove_free(next);
    range->second.bytes += next->second.bytes;
    ranges_.erase(next);
  }
  if (range == ranges_.begin()) return range;
  const auto before = std::prev(range);
  if (!before->second.free) return range;
  remove_free(before);
  before->second.bytes += range->second.bytes;
  ranges_.erase(range);
  return before;
}

/// Maps the pages of a range that are not mapped yet. Returns false if the device has too little memory.
bool MemoryPool::map_pages(uint64_t address, int64_t bytes) {
  const uint64_t page = static_cast<uint64_t>(page_bytes_);
  const size_t last = (address - begin_ + static_cast<uint64_t>(bytes) - 1) / page;
  for (size_t i = (address - begin_) / page; i <= last; ++i)
    if (!pages_[i] && !map_page(i)) return false;
  return true;
}

bool MemoryPool::map_page(size_t page) {
  const Driver& d = *context_.driver;
  const auto bytes = static_cast<size_t>(page_bytes_);
  const DevicePointer address = begin_ + page * bytes;
  AllocationProperties properties;
  properties.device = context_.device;
  unsigned long long handle = 0;
  const Result created = d.mem_create(&handle, bytes, &properties, 0);
  if (created == result::out_of_memory) return false;
  check(created, "cuMemCreate");
  AccessDescription access;
  access.device = context_.device;
  Result mapped = d.mem_map(address, bytes, 0, handle, 0);
  if (!mapped) {
    mapped = d.mem_set_access(address, bytes, &access, 1);
    if (mapped) d.mem_unmap(address, bytes);
  }
  if (mapped) d.mem_release(handle);
  if (mapped == result::out_of_memory) return false;
  check(mapped, "cuMemMap");
  pages_[page] = handle;
  mapped_bytes_ += page_bytes_;
  return true;
}

void MemoryPool::unmap_unused_pages() {
  const Driver& d = *context_.driver;
  // Kernels that were launched may still use memory that was freed since.
  flush_work(context_, ListEnd::other);
  check(d.stream_synchronize(context_.stream), "empty_cache");
  const uint64_t bytes = static_cast<uint64_t>(page_bytes_);
  for (const auto& [address, range] : ranges_) {
    if (!range.free) continue;
    const uint64_t first = (address - begin_ + bytes - 1) / bytes;
    const uint64_t end = (address - begin_ + static_cast<uint64_t>(range.bytes)) / bytes;
    for (uint64_t page = first; page < end; ++page) {
      if (!pages_[page]) continue;
      check(d.mem_unmap(begin_ + page * bytes, bytes), "cuMemUnmap");
      check(d.mem_release(pages_[page]), "cuMemRelease");
      pages_[page] = 0;
      mapped_bytes_ -= page_bytes_;
    }
  }
}

void MemoryPool::refuse(int64_t bytes) {
  size_t free_bytes = 0, total = 0;
  check(context_.driver->mem_get_info(&free_bytes, &total), "cuMemGetInfo");
  raise(ErrorKind::out_of_memory,
        "cuda: out of memory: {} bytes requested, {} of {} bytes free on the device, {} bytes in use, {} bytes cached",
        bytes, free_bytes, total, stats_.live_bytes, mapped_bytes_ - stats_.live_bytes);
}

}  // namespace tape::cuda_device
