#pragma once

#include <cstdint>

// This program's operator new and aligned_alloc, which the library calls too, fail when they are told to.
namespace tape {

/// While in scope, this thread's allocations are counted, and those numbered `first` .. `first + count - 1` fail.
class FailingAllocations {
 public:
  explicit FailingAllocations(int64_t first = INT64_MAX, int64_t count = 0);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  int64_t asked() const;   ///< allocations so far
  int64_t failed() const;  ///< of these
};

/// Blocks of operator new that this thread has and has not freed, counted from anywhere.
int64_t blocks_held();

/// Blocks that were asked for while shared libraries were loaded, before this program's own objects were made: by
/// functions of libtapeformer (directly or below them), and by all.
struct EarlyAllocations {
  int64_t by_tapeformer = 0, all = 0;
};
EarlyAllocations early_allocations();

}  // namespace tape
