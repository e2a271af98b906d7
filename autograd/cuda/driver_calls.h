#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "../../base/non_copyable.h"
#include "context.h"
#include "stream.h"

// Work given to the driver at once. An error of a launch names the kernel, its sizes and the operation in scope.

namespace tape::cuda_device {

/// The dynamic shared memory that each kernel may have. It only grows: a driver refuses launches with more, also those
/// that were collected before the limit became smaller.
class SharedMemoryLimits : NonCopyable {
 public:
  Result raise(const Driver& driver, void* function, int64_t bytes);

 private:
  std::mutex mutex_;
  std::unordered_map<void*, int64_t> limits_;
};

/// Permits a kernel this number of bytes of dynamic shared memory.
void permit_shared_memory(const Context& c, const char* name, void* function, Grid blocks, Grid threads,
                          int64_t shared_bytes);
void launch_now(const Context& c, const char* name, void* function, Grid blocks, Grid threads, int64_t shared_bytes,
                void** arguments);
void copy_now(const Context& c, DevicePointer to, DevicePointer from, size_t bytes);
void fill_now(const Context& c, DevicePointer to, uint8_t value, size_t bytes);

/// Waits for the kernel that was launched last; throws Error (device) with its name if it failed.
void wait_for_kernel(const Context& c, const char* name);

}  // namespace tape::cuda_device
