#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "../base/non_copyable.h"

namespace tape {

/// Allocator for large blocks, which it splits and coalesces: gradients reuse memory freed by activations of any size,
/// so a training step needs little more than its peak of live data.
///
/// Address space is reserved in a few large regions; only touched pages use memory. A request takes the smallest free
/// block that fits, or the lowest one if all are much larger, and grows into new memory only if no free block fits. Not
/// thread-safe.
class Arena : NonCopyable {
 public:
  /// `region`: bytes of address space to reserve at once; fewer if the system refuses that much.
  explicit Arena(int64_t region) : region_bytes_(region) {}

  struct Taken {
    void* block = nullptr;  ///< aligned to 4096 bytes; null if the system refuses
    int64_t bytes = 0;      ///< at least the requested size
    bool fresh = false;     ///< whether it uses memory that was not allocated before
  };
  Taken take(int64_t bytes);
  void give_back(void* block);
  /// Returns the memory of free blocks to the system.
  void trim();
  /// Bytes of memory held by free blocks.
  int64_t cached_bytes() const { return cached_; }

 private:
  using Free = std::set<std::pair<int64_t, char*>>;  // ordered by size, then by address
  struct Block {
    int64_t bytes;
    bool free;
    bool cold;                   // free and without physical memory
    Free::node_type place = {};  // its node of the free list while in use, so that freeing it allocates nothing
  };
  using Blocks = std::map<char*, Block>;
  struct Region {
    char *top, *end;  // [.., top) is divided into blocks, [top, end) is unused
  };

  Taken take_free(int64_t bytes);
  Taken take_new(int64_t bytes);
  bool reserve(int64_t bytes);
  Free::node_type remove_free(Block& block, char* begin);

  int64_t region_bytes_;
  std::vector<Region> regions_;
  Blocks blocks_;
  Free free_;
  int64_t cached_ = 0;
};

}  // namespace tape
