#pragma once

// Functions and types through which kernels reach the emulated device.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernel_types.h"

/// Marks a function whose accesses to memory are the emulated device's own.
#define TAPE_NOT_INSTRUMENTED __attribute__((no_sanitize("thread", "undefined")))
/// Marks a function that is part of the line that calls it, for reports of faults.
#define TAPE_INLINE __attribute__((always_inline)) inline

namespace tape::cuda_device::emulation {

/// A parameter of a kernel.
struct Parameter {
  size_t bytes;
  bool is_pointer;
};
struct Parameters {
  const Parameter* first;
  size_t count;
};
template <class... P>
Parameters parameters_of(void (*)(P...)) {
  static constexpr Parameter all[] = {{sizeof(P), std::is_pointer_v<P>}..., {0, false}};
  return {all, sizeof...(P)};
}

/// Calls a kernel with arguments given by their addresses.
template <auto kernel>
struct Call {
  template <size_t... I, class... P>
  TAPE_NOT_INSTRUMENTED static void unpack(void (*)(P...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<P*>(arguments[I])...);
  }
  template <class... P>
  TAPE_NOT_INSTRUMENTED static void unpack(void (*function)(P...), void** arguments) {
    unpack(function, arguments, std::index_sequence_for<P...>());
  }
  TAPE_NOT_INSTRUMENTED static void call(void** arguments) { unpack(kernel, arguments); }
};

/// A kernel that the emulated device finds by name while this exists.
class RegisteredKernel {
 public:
  RegisteredKernel(const char* name, Parameters parameters, void (*call)(void**), void* code);
  ~RegisteredKernel();
  RegisteredKernel(const RegisteredKernel&) = delete;
  RegisteredKernel& operator=(const RegisteredKernel&) = delete;

  const char* name;
  Parameters parameters;
  void (*call)(void** arguments);
  void* code;  ///< an address in its module

  mutable const RegisteredKernel* next_registered_ = nullptr;  ///< used only by the list of kernels
};

// The values of the running thread. They do not change while it runs.
[[gnu::const]] uint3 thread_index();
[[gnu::const]] uint3 block_index();
[[gnu::const]] dim3 block_size();
[[gnu::const]] dim3 grid_size();
[[gnu::const]] int lane();
[[gnu::const]] void* dynamic_shared_memory();

/// Waits until all threads of the block that have not returned have called it.
void block_barrier();
/// Like block_barrier(); returns the number of threads whose value is not 0.
int block_count(int value);
/// Waits until all threads of the warp in `mask` that have not returned have called it.
void warp_barrier(unsigned mask);
/// A memory fence of all blocks.
void fence();
/// Waits like warp_barrier(), without ordering accesses to memory, and copies the value of lane `from` to `result`.
void warp_shuffle(unsigned mask, int from, const void* value, void* result, size_t bytes);
/// Waits like warp_shuffle(); returns the lanes of `mask` whose value is not 0.
unsigned warp_vote(unsigned mask, int value);
/// Lanes of this warp that have not returned.
unsigned active_lanes();
/// Starts a copy of `bytes` bytes, of which `valid` are read and the rest is zero. It happens in wait_for_copies().
void copy_async(void* to, const void* from, size_t bytes, size_t valid);
void commit_copies();
void wait_for_copies(unsigned pending_groups);
/// Reports an atomic access to memory by the line of the kernel that the caller returns to.
void atomic_access(void* address, size_t bytes, void* caller);

/// Replaces a value in one step and returns the one before. Threads run one at a time, so this is atomic.
template <class T, class New>
__attribute__((noinline)) TAPE_NOT_INSTRUMENTED T atomic_update(T* address, New&& next) {
  atomic_access(address, sizeof(T), __builtin_return_address(0));
  const T old = *address;
  *address = next(old);
  return old;
}

template <class T>
TAPE_INLINE T shuffle(unsigned mask, T value, int from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T result;
  warp_shuffle(mask, from, &value, &result, sizeof(T));
  return result;
}

}  // namespace tape::cuda_device::emulation
