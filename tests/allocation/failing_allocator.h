#pragma once

#include <cstdint>

// This program's operator new and aligned_alloc, which the library calls too, fail on request.
namespace tape {

/// While in scope, counts this thread's allocations and makes those with indices `first` .. `first + count - 1` fail.
class FailingAllocations {
 public:
  explicit FailingAllocations(int64_t first = INT64_MAX, int64_t count = 0);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  int64_t requested() const;  ///< number of allocations so far
  int64_t failed() const;     ///< number of these that failed
};

/// Number of operator new blocks that this thread has not freed, relative to an arbitrary start.
int64_t live_blocks();

/// Number of blocks allocated while shared libraries were loaded, before this program's own objects were constructed:
/// by functions of libtapeformer (directly or indirectly), and in total.
struct EarlyAllocations {
  int64_t by_tapeformer = 0, all = 0;
};
EarlyAllocations early_allocations();

}  // namespace tape
