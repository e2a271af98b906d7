#pragma once

// Copies from device memory to shared memory that run while the thread continues (cp.async).

#include "device.h"

/// Starts a copy of 4, 8 or 16 bytes, aligned to their number. It is done after wait_for_copies() by this thread, and
/// seen by others after a barrier that follows. `valid`: bytes that are read, the rest becomes zero.
template <int bytes>
__device__ TAPE_INLINE void copy_async(void* shared, const void* device, int valid = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
#ifdef __CUDACC__
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(device), "r"(valid) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(device), "n"(bytes), "r"(valid)
                 : "memory");
  }
#else
  ::tape::cuda_device::emulation::copy_async(shared, device, bytes, static_cast<size_t>(valid));
#endif
}

/// Ends a group of copies: all that this thread started since the last group.
__device__ TAPE_INLINE void commit_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  ::tape::cuda_device::emulation::commit_copies();
#endif
}

/// Waits until all groups of this thread except the last `pending` are done.
template <int pending = 0>
__device__ TAPE_INLINE void wait_for_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#else
  ::tape::cuda_device::emulation::wait_for_copies(pending);
#endif
}
