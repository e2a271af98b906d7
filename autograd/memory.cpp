#include "autograd/memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "autograd/arena.h"
#include "autograd/device_memory.h"
#include "base/error.h"
#include "base/pages.h"
#include "base/physical_memory.h"
#include "base/sanitizer.h"

namespace tape {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kLarge = 1 << 20;

/// Training requests the same sizes in every step. Small blocks are rounded up to four size classes per power of two
/// and cached by class; large ones come from an arena.
class CachingAllocator {
 public:
  /// Never destroyed, since static objects may free storages at any time during exit.
  static CachingAllocator& instance() {
    static auto* allocator = new CachingAllocator;
    return *allocator;
  }

  void* allocate(int64_t bytes, int64_t& capacity) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - stats_.live_bytes) refuse(bytes);
    Arena::Taken taken = take(bytes);
    if (!taken.block) {
      drop_cache();
      taken = take(bytes);
    }
    if (!taken.block)
      raise(ErrorKind::out_of_memory, "allocate: the system refused {} bytes ({} bytes in use)", bytes,
            stats_.live_bytes);
    if (taken.bytes > limit_ - stats_.live_bytes) {  // with what it was rounded up by
      give_back(taken.block, taken.bytes);
      refuse(bytes);
    }
    capacity = taken.bytes;
    ++stats_.requests;
    stats_.system_allocations += taken.fresh;
    stats_.live_bytes += capacity;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    return taken.block;
  }

  void free(void* block, int64_t capacity) {
    const std::lock_guard lock(mutex_);
    stats_.live_bytes -= capacity;
    give_back(block, capacity);
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    MemoryStats stats = stats_;
    stats.cached_bytes = small_bytes_ + arena_.cached_bytes();
    return stats;
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
  CachingAllocator() : arena_(bytes_per_reservation()), limit_(physical_memory()) {}

  [[noreturn]] void refuse(int64_t bytes) const {
    raise(ErrorKind::out_of_memory, "allocate: {} bytes requested, {} bytes in use, limit {} bytes", bytes,
          stats_.live_bytes, limit_);
  }

  void give_back(void* block, int64_t capacity) {
    if (kAddressSanitizer) {
      std::free(block);
    } else if (capacity >= kLarge) {
      arena_.give_back(block);
    } else {
      keep(block, capacity);
    }
  }

  /// Called where nothing may fail: a block that cannot be cached returns to the system.
  void keep(void* block, int64_t capacity) noexcept {
    try {
      small_[capacity].push_back(block);
      small_bytes_ += capacity;
    } catch (const std::bad_alloc&) {
      std::free(block);
    }
  }

  static int64_t rounded(int64_t bytes) {
    bytes = std::max(bytes, kAlignment);
    const int64_t step = std::max(kAlignment, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)) / 4));
    return (bytes + step - 1) / step * step;
  }

  Arena::Taken take(int64_t bytes) {
    if (bytes > (int64_t{1} << 62)) return {};
    const int64_t capacity = rounded(bytes);
    if (!kAddressSanitizer && capacity >= kLarge) return arena_.take(std::max(bytes, kLarge));
    std::vector<void*>& kept = small_[capacity];
    if (kept.empty()) {
      void* const fresh = std::aligned_alloc(static_cast<size_t>(kAlignment), static_cast<size_t>(capacity));
      if (fresh) forbid_access(static_cast<char*>(fresh) + bytes, static_cast<size_t>(capacity - bytes));
      return {fresh, capacity, true};
    }
    void* const block = kept.back();
    kept.pop_back();
    small_bytes_ -= capacity;
    return {block, capacity, false};
  }

  void drop_cache() {
    for (auto& [capacity, blocks] : small_)
      for (void* block : blocks) std::free(block);
    small_.clear();
    small_bytes_ = 0;
    arena_.trim();
  }

  std::mutex mutex_;
  std::map<int64_t, std::vector<void*>> small_;  // free blocks by capacity
  int64_t small_bytes_ = 0;                      // total size of these
  Arena arena_;
  MemoryStats stats_;
  int64_t limit_;
};

}  // namespace

MemoryStats memory_stats(Device device) {
  return device.is_cpu() ? CachingAllocator::instance().stats() : device_memory::stats(device);
}
void reset_peak_memory(Device device) {
  device.is_cpu() ? CachingAllocator::instance().reset_peak() : device_memory::reset_peak(device);
}
void empty_cache(Device device) {
  device.is_cpu() ? CachingAllocator::instance().empty() : device_memory::empty_cache(device);
}
void set_memory_limit(int64_t bytes, Device device) {
  device.is_cpu() ? CachingAllocator::instance().set_limit(bytes) : device_memory::set_limit(device, bytes);
}

namespace {

std::atomic<DeferredWork*> deferred_work = nullptr;

/// Allocates a storage's block.
class LateBlock : public DeferredWork {
 public:
  static LateBlock& instance() {
    static constinit LateBlock block;
    return block;
  }
  void begin(Storage& storage) override {
    Storage* const one = &storage;
    void* block = nullptr;
    Storage::allocate_blocks({&one, 1}, {&block, 1});
    storage.set_writer(nullptr);
  }
  void drop(const Storage&) noexcept override {}
  void begin_all(Device) override {}
};

}  // namespace

void DeferredWork::follow_synchronize() { deferred_work = this; }

void synchronize(Device device) {
  if (device.is_cpu()) return;
  if (DeferredWork* const work = deferred_work) work->begin_all(device);
  device_memory::synchronize(device);
}

void copy_bytes(Device to_device, void* to, Device from_device, const void* from, int64_t bytes) {
  if (to_device.is_cpu() && from_device.is_cpu())
    std::memmove(to, from, static_cast<size_t>(bytes));
  else if (to_device.is_cpu())
    device_memory::to_host(from_device, to, from, bytes);
  else if (from_device.is_cpu())
    device_memory::to_device(to_device, to, from, bytes);
  else
    device_memory::within(to_device, to, from_device, from, bytes);
}

Ref<Storage> Storage::allocate(int64_t bytes, Device device) {
  Ref<Storage> storage(new Storage);
  storage->data_ = device.is_cpu() ? CachingAllocator::instance().allocate(bytes, storage->capacity_)
                                   : device_memory::allocate(device, bytes, storage->capacity_);
  storage->device_ = device;
  storage->bytes_ = bytes;
  return storage;
}

Ref<Storage> Storage::allocate_late(int64_t bytes, Device device) {
  if (device.is_cpu()) return allocate(bytes, device);
  Ref<Storage> storage(new Storage);
  storage->device_ = device;
  storage->bytes_ = bytes;
  storage->set_writer(&LateBlock::instance());
  return storage;
}

void Storage::free_block() {
  if (data_) device_memory::free(device_, std::exchange(data_, nullptr), capacity_);
}

void Storage::allocate_blocks(std::span<Storage* const> storages, std::span<void*> blocks) {
  const Storage& first = *storages.front();
  int64_t capacity = 0;
  device_memory::allocate_adjacent(first.device_, first.bytes_, blocks, capacity);
  for (size_t i = 0; i < storages.size(); ++i) {
    storages[i]->data_ = blocks[i];
    storages[i]->capacity_ = capacity;
  }
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
  if (DeferredWork* const work = writer_.load(std::memory_order_acquire)) work->drop(*this);
  if (release_) {
    release_(owner_);
  } else if (data_ && device_.is_cpu()) {
    CachingAllocator::instance().free(data_, capacity_);
  } else if (data_) {
    device_memory::free(device_, data_, capacity_);
  }
}

}  // namespace tape
