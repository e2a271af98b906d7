#include "autograd/kernels/runtime/common/memory.h"

#include <cstdlib>
#include <new>
#include <utility>

#include "base/sanitizer.h"

namespace tape::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLargestKept = std::size_t{8} << 20;
constexpr int kSlots = 8;

/// Free blocks of one thread. The capacity of a block is stored in the 64 bytes before it. No destructor, because
/// destructors of global variables may run kernels after the thread's own objects are destroyed.
struct FreeBlocks {
  void* slots[kSlots];
  bool ended;  // the thread is ending, nothing is cached anymore
};
constinit thread_local FreeBlocks free_blocks{};

/// Frees the blocks at the end of the thread.
struct Cleaner {
  Cleaner() = default;
  Cleaner(const Cleaner&) = delete;
  Cleaner& operator=(const Cleaner&) = delete;
  ~Cleaner() {
    free_blocks.ended = true;
    for (void*& block : free_blocks.slots) std::free(std::exchange(block, nullptr));
  }
};

std::size_t& capacity(void* allocation) { return *static_cast<std::size_t*>(allocation); }

/// Whether freed blocks are cached.
bool keeps_blocks() {
  static thread_local const Cleaner cleaner;
  static_cast<void>(cleaner);
  return !kAddressSanitizer && !free_blocks.ended;
}
}  // namespace

void* acquire_scratch(std::size_t bytes) {
  const std::size_t wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (wanted < bytes) throw std::bad_alloc();
  void** best = nullptr;
  for (void*& slot : free_blocks.slots)
    if (slot && capacity(slot) >= wanted && (!best || capacity(slot) < capacity(*best))) best = &slot;
  void* allocation = nullptr;
  if (best) {
    allocation = *best;
    *best = nullptr;
  } else {
    allocation = std::aligned_alloc(kAlignment, wanted + kAlignment);
    if (!allocation) throw std::bad_alloc();
    capacity(allocation) = wanted;
    forbid_access(static_cast<char*>(allocation) + kAlignment + bytes, wanted - bytes);
  }
  return static_cast<char*>(allocation) + kAlignment;
}

void release_scratch(void* block) noexcept {
  void* allocation = static_cast<char*>(block) - kAlignment;
  if (capacity(allocation) <= kLargestKept && keeps_blocks()) {
    void** smallest = nullptr;
    for (void*& slot : free_blocks.slots) {
      if (!slot) {
        slot = allocation;
        return;
      }
      if (!smallest || capacity(slot) < capacity(*smallest)) smallest = &slot;
    }
    // All slots are in use: keep the larger block, since it serves more sizes.
    if (capacity(*smallest) < capacity(allocation)) {
      void* evicted = *smallest;
      *smallest = allocation;
      allocation = evicted;
    }
  }
  std::free(allocation);
}

}  // namespace tape::kernels
