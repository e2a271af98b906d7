#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "memory.h"

// The memory of GPUs, for storages and copies; implemented in autograd/cuda, and for WebAssembly, which has no GPU, in
// autograd/wasm. Every function throws Error (device) if there is no such device.
namespace tape::device_memory {

/// A block of at least `bytes`, of which *capacity are allocated. Throws Error (out_of_memory).
void* allocate(Device device, int64_t bytes, int64_t& capacity);
/// Blocks of the same size, each as far from the one before.
void allocate_adjacent(Device device, int64_t bytes, std::span<void*> blocks, int64_t& capacity);
/// Work that was asked for earlier may still use the block.
void free(Device device, void* block, int64_t capacity) noexcept;

MemoryStats stats(Device device);
void reset_peak(Device device);
void empty_cache(Device device);
void set_limit(Device device, int64_t bytes);
void synchronize(Device device);
/// Whether each launch waits until it is done (TAPE_CUDA_BLOCKING=1), so that nothing may be launched later.
bool is_blocking(Device device);

/// Memory of the host from which all GPUs copy at full speed, without waiting for the host; `device` is one that is in
/// use anyway. Throws Error (out_of_memory).
void* allocate_pinned(Device device, int64_t bytes);
/// Copies that read the block may still be to come.
void free_pinned(void* block) noexcept;

/// Copies between the host and a GPU. to_host() waits for the values; to_device() returns when `from` has been
/// read, unless it is pinned memory: that can be freed at once, and changed after synchronize().
void to_device(Device device, void* to, const void* from, int64_t bytes);
void to_host(Device device, void* to, const void* from, int64_t bytes);

/// Values of a GPU on their way to the host.
class CopyToHost {
 public:
  CopyToHost() = default;
  CopyToHost(const CopyToHost&) = delete;
  CopyToHost& operator=(const CopyToHost&) = delete;
  virtual ~CopyToHost() = default;
  /// The values, which live as long as this object. Waits until they are there, but not for what was asked for after
  /// the copy. Throws Error (device) if a kernel before it failed.
  virtual const void* wait() = 0;
};
/// Begins such a copy, behind the work so far.
std::unique_ptr<CopyToHost> begin_to_host(Device device, const void* from, int64_t bytes);

/// Copies within a GPU or between two; the blocks may overlap.
void within(Device to_device, void* to, Device from_device, const void* from, int64_t bytes);
/// Sets all bytes to 0.
void clear(Device device, void* to, int64_t bytes);

}  // namespace tape::device_memory

namespace tape {
/// Copies between any two devices, including the host; the blocks may overlap.
void copy_bytes(Device to_device, void* to, Device from_device, const void* from, int64_t bytes);
}  // namespace tape
