#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "../../../base/non_copyable.h"

namespace tape::cuda_device::emulation {

/// Pinned host memory of emulated devices, from and to which copies happen when their turn comes. It outlives a device,
/// like the tensors in it.
class PinnedMemory : NonCopyable {
 public:
  /// Null if the system refuses.
  void* allocate(size_t bytes);
  void free(void* block);

  /// A number of the block that contains the range, which no later block has, or 0 for pageable memory.
  uint64_t block_of(const void* address, size_t bytes) const;

 private:
  struct Block {
    size_t bytes;
    uint64_t number;
  };
  std::map<const char*, Block> blocks_;
  uint64_t allocated_ = 0;
};

PinnedMemory& pinned_memory();

}  // namespace tape::cuda_device::emulation
