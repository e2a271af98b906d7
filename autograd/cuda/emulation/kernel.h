#pragma once

// What a kernel needs to be ordinary C++ that the emulated device runs: CUDA's qualifiers, built-in variables, types
// and functions. Kernels include ../kernels/device.h.

#include <cstdint>
#include <type_traits>

#include "instrumentation.h"
#include "kernel_math.h"
#include "kernel_types.h"
#include "runtime.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
// Aligned, so that there is a gap after arrays of most sizes, in which accesses past their end are found.
#define __shared__ static __attribute__((aligned(16)))
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#undef __restrict__
#define __restrict__

#ifdef TAPE_KERNELS_SYMBOL
extern "C" {
/// What a linker can be asked for to take this object from a static library.
extern const char TAPE_KERNELS_SYMBOL;
const char TAPE_KERNELS_SYMBOL = 0;
}
#endif

#define threadIdx (::tape::cuda_device::emulation::thread_index())
#define blockIdx (::tape::cuda_device::emulation::block_index())
#define blockDim (::tape::cuda_device::emulation::block_size())
#define gridDim (::tape::cuda_device::emulation::grid_size())
constexpr int warpSize = 32;

#define TAPE_DYNAMIC_SHARED(T, name) \
  T* const name = static_cast<T*>(::tape::cuda_device::emulation::dynamic_shared_memory())

TAPE_INLINE void __syncthreads() { ::tape::cuda_device::emulation::block_barrier(); }
TAPE_INLINE int __syncthreads_count(int value) { return ::tape::cuda_device::emulation::block_count(value); }
TAPE_INLINE int __syncthreads_or(int value) { return ::tape::cuda_device::emulation::block_count(value) != 0; }
TAPE_INLINE int __syncthreads_and(int value) { return ::tape::cuda_device::emulation::block_count(!value) == 0; }
TAPE_INLINE void __syncwarp(unsigned mask = ~0U) { ::tape::cuda_device::emulation::warp_barrier(mask); }
TAPE_INLINE void __threadfence() { ::tape::cuda_device::emulation::fence(); }
TAPE_INLINE void __threadfence_block() {}
TAPE_INLINE void __threadfence_system() { ::tape::cuda_device::emulation::fence(); }

template <class T>
TAPE_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = ::tape::cuda_device::emulation::lane();
  return ::tape::cuda_device::emulation::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
TAPE_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = ::tape::cuda_device::emulation::lane();
  const int source = lane - static_cast<int>(delta);
  return ::tape::cuda_device::emulation::shuffle(mask, value, source < (lane & ~(width - 1)) ? lane : source);
}
template <class T>
TAPE_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = ::tape::cuda_device::emulation::lane();
  const int source = lane + static_cast<int>(delta);
  return ::tape::cuda_device::emulation::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source);
}
template <class T>
TAPE_INLINE T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = ::tape::cuda_device::emulation::lane();
  const int source = lane ^ bits;
  return ::tape::cuda_device::emulation::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source);
}
TAPE_INLINE unsigned __ballot_sync(unsigned mask, int value) {
  return ::tape::cuda_device::emulation::warp_vote(mask, value);
}
TAPE_INLINE int __any_sync(unsigned mask, int value) {
  return ::tape::cuda_device::emulation::warp_vote(mask, value) != 0;
}
TAPE_INLINE int __all_sync(unsigned mask, int value) {
  return ::tape::cuda_device::emulation::warp_vote(mask, !value) == 0;
}
TAPE_INLINE unsigned __activemask() { return ::tape::cuda_device::emulation::active_lanes(); }

template <class T>
TAPE_INLINE T atomicAdd(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return static_cast<T>(old + value); });
}
template <class T>
TAPE_INLINE T atomicSub(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return static_cast<T>(old - value); });
}
template <class T>
TAPE_INLINE T atomicMax(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return old < value ? value : old; });
}
template <class T>
TAPE_INLINE T atomicMin(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return value < old ? value : old; });
}
template <class T>
TAPE_INLINE T atomicOr(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return static_cast<T>(old | value); });
}
template <class T>
TAPE_INLINE T atomicAnd(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return static_cast<T>(old & value); });
}
template <class T>
TAPE_INLINE T atomicExch(T* address, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T) { return value; });
}
template <class T>
TAPE_INLINE T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return ::tape::cuda_device::emulation::atomic_update(address, [&](T old) { return old == expected ? value : old; });
}
TAPE_INLINE unsigned atomicInc(unsigned* address, unsigned last) {
  return ::tape::cuda_device::emulation::atomic_update(address,
                                                       [&](unsigned old) { return old >= last ? 0 : old + 1; });
}
