#pragma once

#include "context.h"
#include "stream.h"

// Work given to the driver at once. An error of a launch names the kernel, its sizes and the operation in scope.

namespace tape::cuda_device {

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
