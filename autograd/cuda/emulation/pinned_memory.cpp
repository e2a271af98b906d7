#include "autograd/cuda/emulation/pinned_memory.h"

#include <cstdlib>
#include <iterator>

namespace tape::cuda_device::emulation {

PinnedMemory& pinned_memory() {
  static auto* memory = new PinnedMemory;
  return *memory;
}

void* PinnedMemory::allocate(size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block) blocks_[static_cast<const char*>(block)] = {bytes, ++allocated_};
  return block;
}

void PinnedMemory::free(void* block) {
  // It may be memory of another driver.
  if (blocks_.erase(static_cast<const char*>(block))) std::free(block);
}

uint64_t PinnedMemory::block_of(const void* address, size_t bytes) const {
  const char* const first = static_cast<const char*>(address);
  const auto after = blocks_.upper_bound(first);
  if (after == blocks_.begin()) return 0;
  const auto& [begin, block] = *std::prev(after);
  return first + bytes <= begin + block.bytes ? block.number : 0;
}

}  // namespace tape::cuda_device::emulation
