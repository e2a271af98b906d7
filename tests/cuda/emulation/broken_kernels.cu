// Kernels with one fault each, in the line with the comment FAULT and the name of the kernel if it is in a single line.
#include "autograd/cuda/kernels/async_copy.h"
#include "autograd/cuda/kernels/device.h"
#include "autograd/cuda/kernels/matrix.h"

namespace {

constexpr int kThreads = 64;

__device__ int thread() { return static_cast<int>(threadIdx.x); }

// Reverses 64 values. Each thread reads what another one wrote.
__device__ void correct_reverse(const float* x, float* y) {
  __shared__ float values[kThreads];
  values[thread()] = x[thread()];
  __syncthreads();
  y[thread()] = values[kThreads - 1 - thread()];
}

__device__ void missing_barrier(const float* x, float* y) {
  __shared__ float values[kThreads];
  values[thread()] = x[thread()];
  __syncthreads();
  const float other = values[kThreads - 1 - thread()];  // FAULT missing_barrier
  values[thread()] = other;
  __syncthreads();
  y[thread()] = values[thread()];
}

__device__ void race_of_writers(float* y) {
  __shared__ float sum;
  sum = static_cast<float>(thread());  // FAULT race_of_writers
  __syncthreads();
  y[thread()] = sum;
}

__device__ void race_within_a_warp(const float* x, float* y) {
  __shared__ float values[32];
  values[thread()] = x[thread()];
  // A shuffle does not order accesses to memory, unlike __syncwarp().
  const float sum = __shfl_xor_sync(~0U, x[thread()], 1);
  y[thread()] = sum + values[thread() ^ 1];  // FAULT race_within_a_warp
}

__device__ void race_in_device_memory(float* y) {
  y[thread()] = 1;
  const int next = (thread() + 1) % kThreads;
  y[next] += 1;
}

__device__ void race_between_blocks(float* y) {
  y[thread()] = static_cast<float>(blockIdx.x);  // FAULT race_between_blocks
}

__device__ void race_with_atomic(float* y) {
  atomicAdd(&y[0], 1.0F);
  if (thread() == 40) y[0] = 0;  // FAULT race_with_atomic
}

__device__ void divergent_barrier(float* y) {
  if (thread() < 32) {
    y[thread()] = 1;
    __syncthreads();
  } else {
    y[thread()] = 2;
    __syncthreads();  // FAULT divergent_barrier
  }
}

__device__ void divergent_shuffle(const float* x, float* y) {
  float value = x[thread()];
  if (thread() % 32 != 5) {
    value += __shfl_xor_sync(~0U, value, 1);  // FAULT divergent_shuffle
  } else {
    __syncthreads();
  }
  y[thread()] = value;
}

__device__ void mask_without_caller(const float* x, float* y) {
  y[thread()] = __shfl_sync(0xFFFFU, x[thread()], 0);  // FAULT mask_without_caller
}

__device__ void shuffle_from_returned_lane(const float* x, float* y) {
  if (thread() % 32 == 7) return;
  y[thread()] = __shfl_sync(~0U, x[thread()], 7);  // FAULT shuffle_from_returned_lane
}

__device__ void read_past_the_end(const float* x, float* y) {
  y[thread()] = x[thread() + 1];  // FAULT read_past_the_end
}

__device__ void write_past_the_end(float* y) {
  y[thread() + 1] = 0;  // FAULT write_past_the_end
}

__device__ void read_of_freed_memory(const float* x, float* y) {
  y[thread()] = x[thread()];  // FAULT read_of_freed_memory
}

__device__ void shared_array_index(float* y) {
  __shared__ float values[kThreads];
  values[thread() + 1] = 1;  // FAULT shared_array_index
  __syncthreads();
  y[thread()] = values[thread()];
}

__device__ void shared_pointer(float* y) {
  __shared__ float values[kThreads - 1];
  float* const first = values;
  first[thread()] = 1;  // FAULT shared_pointer
  __syncthreads();
  y[thread()] = values[0];
}

__device__ void stack_overflow(float* y) {
  volatile float values[1 << 18];
  for (int i = 0; i < 1 << 18; ++i) values[i] = static_cast<float>(i);
  y[thread()] = values[thread()];
}

__device__ void dynamic_shared_index(float* y) {
  TAPE_DYNAMIC_SHARED(float, values);
  values[thread() + 1] = 1;  // FAULT dynamic_shared_index
  __syncthreads();
  y[thread()] = values[thread()];
}

__device__ void unwritten_shared_memory(float* y) {
  __shared__ float values[kThreads];
  if (thread() != 9) values[thread()] = 1;
  __syncthreads();
  y[thread()] = values[thread()];  // FAULT unwritten_shared_memory
}

__device__ void unwritten_device_memory(const float* x, float* y) {
  y[thread()] = x[thread()];  // FAULT unwritten_device_memory
}

struct Pointers {
  const float* x;
};
__device__ void host_pointer_in_struct(Pointers pointers, float* y) {
  y[thread()] = pointers.x[thread()];  // FAULT host_pointer_in_struct
}

__device__ void null_pointer(const float* x, float* y) {
  y[thread()] = x[thread()];  // FAULT null_pointer
}

__device__ void misaligned_vector(const float* x, float* y) {
  const float4 values = *reinterpret_cast<const float4*>(x + thread() % 2);  // FAULT misaligned_vector
  y[thread()] = values.x + values.y + values.z + values.w;
}

__device__ void division_by_zero(const int* x, int* y) {
  y[thread()] = 1 / x[thread()];  // FAULT division_by_zero
}

__device__ void copy_without_waiting(const float* x, float* y) {
  __shared__ float values[kThreads];
  copy_async<4>(values + thread(), x + thread());
  commit_copies();
  wait_for_copies<1>();
  y[thread()] = values[thread()];  // FAULT copy_without_waiting
}

__device__ void misaligned_copy(const float* x, float* y) {
  __shared__ __align__(16) float values[kThreads];
  copy_async<8>(values, x + 1);  // FAULT misaligned_copy
  y[thread()] = values[0];
}

__device__ void multiply_with_few_lanes(const float* x, float* y) {
  if (thread() % 32 < 16) return;
  double sums[2] = {0, 0};
  multiply_f64(sums, x[thread()], x[thread()]);  // FAULT multiply_with_few_lanes
  y[thread()] = static_cast<float>(sums[0]);
}

}  // namespace

TAPE_EXPORT_ONE(correct_reverse, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(missing_barrier, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(race_of_writers, (float* y), (y))
TAPE_EXPORT_ONE(race_within_a_warp, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(race_in_device_memory, (float* y), (y))
TAPE_EXPORT_ONE(race_between_blocks, (float* y), (y))
TAPE_EXPORT_ONE(race_with_atomic, (float* y), (y))
TAPE_EXPORT_ONE(divergent_barrier, (float* y), (y))
TAPE_EXPORT_ONE(divergent_shuffle, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(mask_without_caller, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(shuffle_from_returned_lane, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(read_past_the_end, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(write_past_the_end, (float* y), (y))
TAPE_EXPORT_ONE(read_of_freed_memory, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(shared_array_index, (float* y), (y))
TAPE_EXPORT_ONE(shared_pointer, (float* y), (y))
TAPE_EXPORT_ONE(stack_overflow, (float* y), (y))
TAPE_EXPORT_ONE(dynamic_shared_index, (float* y), (y))
TAPE_EXPORT_ONE(unwritten_shared_memory, (float* y), (y))
TAPE_EXPORT_ONE(unwritten_device_memory, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(host_pointer_in_struct, (Pointers pointers, float* y), (pointers, y))
TAPE_EXPORT_ONE(null_pointer, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(misaligned_vector, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(division_by_zero, (const int* x, int* y), (x, y))
TAPE_EXPORT_ONE(copy_without_waiting, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(misaligned_copy, (const float* x, float* y), (x, y))
TAPE_EXPORT_ONE(multiply_with_few_lanes, (const float* x, float* y), (x, y))
