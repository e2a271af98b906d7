#include "autograd/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "autograd/error.h"

namespace tape {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kLarge = 1 << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;  // a recycled block would hide a use after free from the sanitizer
#else
constexpr bool kCaching = true;
#endif

thread_local bool loose_fit = false;

/// Training asks for the same sizes each step: blocks are rounded up to four classes a doubling and kept by class. In a
/// LooseFit scope a large request takes a larger block rather than new memory.
class CachingAllocator {
 public:
  /// Never destroyed: storages in static objects may be freed after everything else.
  static CachingAllocator& instance() {
    static auto* allocator = new CachingAllocator;
    return *allocator;
  }

  void* allocate(int64_t bytes, int64_t& capacity) {
    capacity = rounded(bytes);
    const std::lock_guard lock(mutex_);
    if (capacity < bytes || capacity > limit_ - stats_.live_bytes)
      raise(ErrorKind::out_of_memory, "allocate: {} bytes asked, {} bytes in use, limit {} bytes", bytes,
            stats_.live_bytes, limit_);
    void* block = take_cached(capacity);
    if (!block) {
      block = from_system(capacity);
      if (!block) {
        drop_cache();
        block = from_system(capacity);
      }
      if (!block)
        raise(ErrorKind::out_of_memory, "allocate: the system refused {} bytes ({} bytes in use)", bytes,
              stats_.live_bytes);
      ++stats_.system_allocations;
    }
    ++stats_.requests;
    stats_.live_bytes += capacity;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    return block;
  }

  void free(void* block, int64_t capacity) {
    const std::lock_guard lock(mutex_);
    stats_.live_bytes -= capacity;
    if (!kCaching) {
      std::free(block);
      return;
    }
    stats_.cached_bytes += capacity;
    cache_[capacity].push_back(block);
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak_bytes = stats_.live_bytes;
  }
  void empty() {
    const std::lock_guard lock(mutex_);
    drop_cache();
  }
  void set_limit(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
  }

 private:
  CachingAllocator() : limit_(static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE)) {}

  static int64_t rounded(int64_t bytes) {
    bytes = std::max(bytes, kAlignment);
    if (bytes > (int64_t{1} << 62)) return bytes;
    const int64_t step = std::max(kAlignment, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)) / 4));
    return (bytes + step - 1) / step * step;
  }

  /// A free block of the capacity, or of a little more, which it then is.
  void* take_cached(int64_t& capacity) {
    const int64_t most = loose_fit && capacity >= kLarge ? 2 * capacity : capacity;
    for (auto found = cache_.lower_bound(capacity); found != cache_.end() && found->first <= most; ++found) {
      if (found->second.empty()) continue;
      void* block = found->second.back();
      found->second.pop_back();
      capacity = found->first;
      stats_.cached_bytes -= capacity;
      return block;
    }
    return nullptr;
  }

  static void* from_system(int64_t capacity) {
    const bool large = capacity >= 2 * kHugePage;
    const int64_t alignment = large ? kHugePage : kAlignment;
    const int64_t size = (capacity + alignment - 1) / alignment * alignment;
    void* block = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(size));
    // Large pages make the first touch of a big block several times cheaper; where refused, nothing is lost.
    if (block && large) madvise(block, static_cast<size_t>(size), MADV_HUGEPAGE);
    return block;
  }

  void drop_cache() {
    for (auto& [capacity, blocks] : cache_)
      for (void* block : blocks) std::free(block);
    cache_.clear();
    stats_.cached_bytes = 0;
  }

  std::mutex mutex_;
  std::map<int64_t, std::vector<void*>> cache_;
  MemoryStats stats_;
  int64_t limit_;
};

}  // namespace

LooseFit::LooseFit() : previous_(loose_fit) { loose_fit = true; }
LooseFit::~LooseFit() { loose_fit = previous_; }

MemoryStats memory_stats() { return CachingAllocator::instance().stats(); }
void reset_peak_memory() { CachingAllocator::instance().reset_peak(); }
void empty_cache() { CachingAllocator::instance().empty(); }
void set_memory_limit(int64_t bytes) { CachingAllocator::instance().set_limit(bytes); }

Ref<Storage> Storage::allocate(int64_t bytes) {
  Ref<Storage> storage(new Storage);
  storage->data_ = CachingAllocator::instance().allocate(bytes, storage->capacity_);
  storage->bytes_ = bytes;
  return storage;
}

Ref<Storage> Storage::borrow(void* data, int64_t bytes, void* owner, void (*release)(void*)) {
  Ref<Storage> storage(new Storage);
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->owner_ = owner;
  storage->release_ = release;
  return storage;
}

Storage::~Storage() {
  if (release_) {
    release_(owner_);
  } else if (data_) {
    CachingAllocator::instance().free(data_, capacity_);
  }
}

}  // namespace tape
