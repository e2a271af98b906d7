#pragma once

#include <cstdint>
#include <span>

#include "../memory.h"

// Memory of this thread's current device (context.h).

namespace tape::cuda_device {

/// Allocates at least `bytes` bytes of device memory, aligned to 512, and sets `capacity` to the number to pass to
/// free(). Throws Error (out_of_memory) with the bytes requested, free on the device, in use and cached, or with the
/// limit of set_limit().
void* allocate(int64_t bytes, int64_t& capacity);
/// Allocates blocks of the same size, each as far from the one before.
void allocate_adjacent(int64_t bytes, std::span<void*> blocks, int64_t& capacity);
/// Frees memory of any device. The device can reuse it at once. Memory of a driver that is no longer in use is ignored.
void free(void* pointer, int64_t capacity) noexcept;

/// Statistics of the device's memory; cached_bytes is what the process holds on the device without using it.
MemoryStats stats();
/// Sets peak_bytes to live_bytes.
void reset_peak();
/// Returns cached memory to the device, after waiting for its work, and cached pinned memory to the system.
void empty_cache();
/// Maximum of live_bytes; an allocation that would exceed it throws.
void set_limit(int64_t bytes);

/// Allocates host memory that the device copies from and to at full speed, without waiting for the host. Throws Error
/// (out_of_memory) if the system refuses.
void* allocate_pinned(int64_t bytes);
/// Frees memory of allocate_pinned(). It is reused when the copies from it have run.
void free_pinned(void* pointer) noexcept;

}  // namespace tape::cuda_device
