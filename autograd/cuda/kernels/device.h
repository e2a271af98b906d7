#pragma once

// The header of all kernels. A kernel is plain CUDA C++: nvcc compiles it for GPUs, and g++ or clang as ordinary C++
// for the emulated device (autograd/cuda/emulation/), where the same names come from emulation/kernel.h.
//
//   namespace {
//   template <class T>
//   __device__ void scale(int64_t n, T factor, const T* x, T* y) {
//     for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) y[i] = factor * x[i];
//   }
//   }  // namespace
//   TAPE_EXPORT(scale, (int64_t n, T factor, const T* x, T* y), (n, factor, x, y))
//
// exports the kernels scale_f32 and scale_f64, which `Kernel("scale_f32")` launches (autograd/cuda/stream.h).

#include <float.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#include <cmath>

#define TAPE_INLINE __forceinline__
/// Before a loop that must be unrolled, so that arrays it indexes stay in registers.
#define TAPE_UNROLL _Pragma("unroll")
/// Before a loop of which `count` iterations at a time suffice, a constant, so that fewer values wait in registers.
#define TAPE_UNROLL_BY(count) TAPE_PRAGMA(unroll count)
#define TAPE_PRAGMA(text) _Pragma(#text)
/// Dynamic shared memory of a block, as an array of T.
#define TAPE_DYNAMIC_SHARED(T, name)                                  \
  extern __shared__ __align__(16) unsigned char tape_shared_memory[]; \
  T* const name = reinterpret_cast<T*>(tape_shared_memory)
/// Defines a kernel without a type parameter: TAPE_EXPORT_ONE(fill, (int64_t n, float* y), (n, y)).
#define TAPE_EXPORT_ONE(name, parameters, arguments) TAPE_EXPORT_AS(name, name, parameters, arguments)
// The function is named before the kernel, which may have the same name.
#define TAPE_EXPORT_AS(name, function, parameters, arguments)                                  \
  static __device__ __forceinline__ void tape_kernel_##name parameters { function arguments; } \
  extern "C" __global__ void name parameters { tape_kernel_##name arguments; }
#else
#include "../emulation/kernel.h"

#define TAPE_UNROLL
#define TAPE_UNROLL_BY(count)
#define TAPE_EXPORT_AS(name, function, parameters, arguments)                           \
  static void tape_kernel_##name parameters { function arguments; }                     \
  static const ::tape::cuda_device::emulation::RegisteredKernel tape_registered_##name{ \
      #name, ::tape::cuda_device::emulation::parameters_of(tape_kernel_##name),         \
      ::tape::cuda_device::emulation::Call<tape_kernel_##name>::call, reinterpret_cast<void*>(tape_kernel_##name)};
#define TAPE_EXPORT_ONE(name, parameters, arguments) TAPE_EXPORT_AS(name, name, parameters, arguments)
#endif

/// Defines the kernels name_f32 and name_f64 of a function template; T is the type parameter.
#define TAPE_EXPORT(name, parameters, arguments)                   \
  TAPE_EXPORT_TYPE(name##_f32, name, float, parameters, arguments) \
  TAPE_EXPORT_TYPE(name##_f64, name, double, parameters, arguments)
/// Defines one kernel of a function template for the type T = `type`.
#define TAPE_EXPORT_TYPE(name, function, type, parameters, arguments) \
  namespace types_of_##name {                                         \
    using T = type;                                                   \
    TAPE_EXPORT_AS(name, function<T>, parameters, arguments)          \
  }

/// Index of this thread among those of all blocks, along x.
__device__ inline int64_t thread_of_grid() {
  return static_cast<int64_t>(blockIdx.x) * static_cast<int64_t>(blockDim.x) + static_cast<int64_t>(threadIdx.x);
}
/// Number of threads of all blocks, along x.
__device__ inline int64_t threads_of_grid() {
  return static_cast<int64_t>(gridDim.x) * static_cast<int64_t>(blockDim.x);
}
