#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "../base/non_copyable.h"

namespace tape {

/// Large blocks of memory, split and joined again as they are needed: what activations leave behind serves gradients of
/// any other size, so that a training step needs little more than what lives at its peak.
///
/// Address space is reserved in few large regions; memory is what was touched of them. A request takes the smallest
/// free block that is large enough, the lowest where all are much larger, and new memory behind all others only where
/// there is none. Not thread-safe.
class Arena : NonCopyable {
 public:
  /// `region`: how much address space to reserve at once, less where the system refuses so much.
  explicit Arena(int64_t region) : region_bytes_(region) {}

  struct Taken {
    void* block = nullptr;  ///< on 4096 bytes; null where the system refuses
    int64_t bytes = 0;      ///< at least what was asked for
    bool fresh = false;     ///< needs memory that was not held before
  };
  Taken take(int64_t bytes);
  void give_back(void* block);
  /// Gives the memory of free blocks back to the system.
  void trim();
  /// Bytes in free blocks that hold memory.
  int64_t cached_bytes() const { return cached_; }

 private:
  using Free = std::set<std::pair<int64_t, char*>>;  // by size, then by address
  struct Block {
    int64_t bytes;
    bool free;
    bool cold;                   // free, and without memory
    Free::node_type place = {};  // among the free ones, while it is not: giving it back needs no memory
  };
  using Blocks = std::map<char*, Block>;
  struct Region {
    char *top, *end;  // [.., top) is in blocks, [top, end) was never used or given back whole
  };

  Taken take_free(int64_t bytes);
  Taken take_new(int64_t bytes);
  bool reserve(int64_t bytes);
  Free::node_type take_out(Block& block, char* begin);

  int64_t region_bytes_;
  std::vector<Region> regions_;
  Blocks blocks_;
  Free free_;
  int64_t cached_ = 0;
};

}  // namespace tape
