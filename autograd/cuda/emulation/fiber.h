#pragma once

#include <cstddef>
#include <vector>

#include "../../../base/non_copyable.h"

namespace tape::cuda_device::emulation {

/// The state of a suspended fiber or thread: what switch_fiber() needs to continue it.
using FiberState = void*;

/// Prepares a fiber that calls `entry` on a stack when it is first continued. `entry` must not return.
FiberState prepare_fiber(char* stack, size_t bytes, void (*entry)());

/// Suspends the caller in `from` and continues `to`.
void switch_fiber(FiberState& from, FiberState to);

/// Equally large stacks in one range of addresses, each with an inaccessible page at its end.
class FiberStacks : NonCopyable {
 public:
  FiberStacks(size_t count, size_t bytes);
  ~FiberStacks();

  char* stack(size_t index) const { return begin_ + index * spacing_ + kGuard; }  ///< lowest usable address
  size_t stack_bytes() const { return spacing_ - kGuard; }                        ///< usable bytes
  char* begin() const { return begin_; }                                          ///< of the range
  size_t bytes() const { return bytes_; }                                         ///< of the range
  /// Whether an address is in an inaccessible page, as after an overflow.
  bool in_guard(const void* address) const;

 private:
  static constexpr size_t kGuard = 4096;
  size_t spacing_, bytes_;
  char* begin_;
};

}  // namespace tape::cuda_device::emulation
