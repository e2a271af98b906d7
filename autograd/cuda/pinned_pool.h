#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "context.h"
#include "event.h"

namespace tape::cuda_device {

/// Caching allocator of pinned host memory, since the driver takes milliseconds to pin a block.
///
/// A freed block is reused when its copies have run, so that a tensor in pinned memory can be dropped after the
/// call that copies it, and a loader of batches that pins each one goes around a few blocks.
class PinnedPool : NonCopyable {
 public:
  /// Throws Error (out_of_memory) if the system refuses.
  void* allocate(int64_t bytes);
  void free(void* block) noexcept;
  /// Notes that a copy from or to this address was asked for on the current device. Returns whether it is the pool's;
  /// other memory is ignored.
  bool record_copy(const void* at);
  /// Keeps the block of this address from being reused until record_expected() or drop_expected(), for copies that are
  /// asked for later. Returns the block's number, which no other block has, or 0 if it is not the pool's.
  uint64_t expect_copy(const void* at);
  /// The copy was asked for on the current device just now.
  void record_expected(const void* at);
  /// It will not be asked for.
  void drop_expected(const void* at);
  /// It may have been asked for on the current device before something failed.
  void record_or_drop_expected(const void* at) noexcept;
  /// Returns unused blocks whose copies have run to the system.
  void trim();

 private:
  struct Block {
    int64_t capacity = 0;
    uint64_t number = 0;  // unlike its address, no other block's
    bool used = true;
    uint64_t freed = 0;                                       // when
    int64_t expected = 0;                                     // copies that are to be asked for
    std::array<std::unique_ptr<Event>, kMostDevices> copied;  // the last copy to each device
  };
  using Blocks = std::map<const char*, Block>;

  Block* find(const void* at);
  static void record(Block& block);
  static bool is_idle(const Block& block);
  void forget_other_drivers();
  Blocks::iterator oldest_idle(int64_t capacity);
  void* allocate_block(int64_t bytes, int64_t capacity);
  void release_idle();

  std::mutex mutex_;
  uint32_t generation_ = 0;  // of the driver that the blocks belong to
  Blocks blocks_;
  uint64_t allocated_ = 0;
  uint64_t frees_ = 0;
};

PinnedPool& pinned_pool();

}  // namespace tape::cuda_device
