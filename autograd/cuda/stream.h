#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../../base/non_copyable.h"

// Copies and kernels on this thread's current device (context.h), in the order of the calls.

namespace tape::cuda_device {

/// Copies to the device. Pageable memory can be changed after the call, pinned memory after synchronize().
void copy_to_device(void* device, const void* host, int64_t bytes);
/// Copies to the host, and waits (wait() of context.h).
void copy_to_host(void* host, const void* device, int64_t bytes);
/// Begins a copy to pinned memory, which can be freed at once and is only reused when the copy has run.
void begin_copy_to_host(void* pinned, const void* device, int64_t bytes);
/// Copies within the device. The ranges must not overlap.
void copy_on_device(void* to, const void* from, int64_t bytes);
/// Sets each byte of a range of device memory.
void fill_bytes(void* device, uint8_t value, int64_t bytes);

/// Number of blocks of a kernel, or of threads of a block, along each axis.
struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

/// The name of the operation that launches kernels on this thread while in scope, for messages of errors: a constant,
/// since the kernels may run later.
class LaunchingOperation : NonCopyable {
 public:
  explicit LaunchingOperation(const char* name);
  ~LaunchingOperation();

  /// The name in scope, or null.
  static const char* current();

 private:
  const char* before_;
};

/// With TAPE_CUDA_BLOCKING=1, waits for what was launched as `name` and throws Error (device) as a Kernel does if it
/// failed.
void wait_if_blocking(const char* name);

/// A kernel, found by name on its first launch: `const Kernel softmax_f32("softmax_f32");`. Operations launch it in
/// run_kernels() (autograd/ops/kernel_call.h).
///
/// A launch allocates nothing and returns before the kernel has run. With TAPE_CUDA_BLOCKING=1 it waits for the kernel
/// and throws Error (device) with its name and the operation's if it failed; without it, the next copy_to_host() or
/// synchronize() does, and cannot name the kernel.
class Kernel : NonCopyable {
 public:
  /// `name` is a constant.
  explicit constexpr Kernel(const char* name) : name_(name) {}

  /// Runs `blocks` blocks of `threads` threads. The arguments must have the types of the kernel's parameters; their
  /// number and sizes are checked on the first launch. With no blocks, nothing happens.
  template <class... A>
  void operator()(Grid blocks, Grid threads, A... args) const {
    with_shared(blocks, threads, 0, args...);
  }
  /// The same with this number of bytes of dynamic shared memory per block.
  template <class... A>
  void with_shared(Grid blocks, Grid threads, int64_t shared_bytes, A... args) const {
    static_assert((std::is_trivially_copyable_v<A> && ...), "arguments are copied to the device byte by byte");
    static constexpr std::array<size_t, sizeof...(A) + 1> sizes = {sizeof(A)...};
    void* pointers[sizeof...(A) + 1] = {const_cast<void*>(static_cast<const void*>(&args))...};
    launch(blocks, threads, shared_bytes, pointers, sizes.data(), sizeof...(A));
  }

  const char* name() const { return name_; }  ///< of the function in its module

 private:
  static constexpr size_t kMostDevices = 16;

  void launch(Grid blocks, Grid threads, int64_t shared_bytes, void** arguments, const size_t* sizes,
              size_t count) const;
  void* find(const size_t* sizes, size_t count) const;

  const char* name_;
  mutable std::atomic<uint32_t> generation_ = 0;  // of the driver that the functions belong to
  mutable std::array<std::atomic<void*>, kMostDevices> functions_ = {};
};

}  // namespace tape::cuda_device
