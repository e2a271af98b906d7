#include "autograd/kernels/memory.h"

#include <cstdlib>
#include <new>

namespace tape::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLargestKept = std::size_t{8} << 20;
constexpr int kSlots = 8;

/// Free blocks of one thread. The capacity of a block stands in the 64 bytes before it.
struct FreeBlocks {
  void* slots[kSlots] = {};
  FreeBlocks() = default;
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;
  ~FreeBlocks() {
    for (void* block : slots) std::free(block);
  }
};

std::size_t& capacity(void* allocation) { return *static_cast<std::size_t*>(allocation); }

FreeBlocks& free_blocks() {
  static thread_local FreeBlocks blocks;
  return blocks;
}
}  // namespace

void* acquire_scratch(std::size_t bytes) {
  const std::size_t wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (wanted < bytes) throw std::bad_alloc();
  void** best = nullptr;
  for (void*& slot : free_blocks().slots)
    if (slot && capacity(slot) >= wanted && (!best || capacity(slot) < capacity(*best))) best = &slot;
  void* allocation = nullptr;
  if (best) {
    allocation = *best;
    *best = nullptr;
  } else {
    allocation = std::aligned_alloc(kAlignment, wanted + kAlignment);
    if (!allocation) throw std::bad_alloc();
    capacity(allocation) = wanted;
  }
  return static_cast<char*>(allocation) + kAlignment;
}

void release_scratch(void* block) noexcept {
  void* allocation = static_cast<char*>(block) - kAlignment;
  if (capacity(allocation) <= kLargestKept) {
    void** smallest = nullptr;
    for (void*& slot : free_blocks().slots) {
      if (!slot) {
        slot = allocation;
        return;
      }
      if (!smallest || capacity(slot) < capacity(*smallest)) smallest = &slot;
    }
    // All slots are taken: the larger block stays, since it serves more sizes.
    if (capacity(*smallest) < capacity(allocation)) {
      void* evicted = *smallest;
      *smallest = allocation;
      allocation = evicted;
    }
  }
  std::free(allocation);
}

}  // namespace tape::kernels
