// Kernels that use what the emulated device offers, without faults.
#include "autograd/cuda/kernels/async_copy.h"
#include "autograd/cuda/kernels/bf16.h"
#include "autograd/cuda/kernels/device.h"
#include "autograd/cuda/kernels/matrix.h"

namespace {

/// __syncthreads() unless its number is the missing one.
template <int number, int missing>
__device__ TAPE_INLINE void barrier() {
  if (number != missing) __syncthreads();
}

/// Softmax of each row, a block per row; without one of its barriers, if `missing` is its number.
template <class T, int missing = 0>
__device__ void test_softmax(int64_t cols, const T* x, T* y) {
  __shared__ T of_warps[32];
  const T* const row = x + static_cast<int64_t>(blockIdx.x) * cols;
  T* const out = y + static_cast<int64_t>(blockIdx.x) * cols;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T most = -INFINITY;
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) most = max(most, row[j]);
  for (int bits = 16; bits; bits /= 2) most = max(most, __shfl_xor_sync(~0U, most, bits));
  if (lane == 0) of_warps[warp] = most;
  barrier<1, missing>();
  for (int w = 0; w < warps; ++w) most = max(most, of_warps[w]);
  barrier<2, missing>();
  T sum = 0;
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) sum += exp(row[j] - most);
  for (int bits = 16; bits; bits /= 2) sum += __shfl_xor_sync(~0U, sum, bits);
  if (lane == 0) of_warps[warp] = sum;
  barrier<3, missing>();
  sum = 0;
  for (int w = 0; w < warps; ++w) sum += of_warps[w];
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) out[j] = exp(row[j] - most) / sum;
}

/// Sums in dynamic shared memory; threads beyond `n` return before the barriers of the others.
__device__ void test_early_return(int n, const int* x, int* y) {
  TAPE_DYNAMIC_SHARED(int, values);
  const int i = threadIdx.x;
  if (i >= n) return;
  values[i] = x[i];
  __syncthreads();
  y[i] = values[i] + values[n - 1 - i];
}

/// The last block adds the sums of all blocks.
__device__ void test_last_block(const int* x, int* sums, unsigned* counter, int* total) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[thread_of_grid()]);
  __syncthreads();
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int all = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) all += sums[block];
  *total = all;
}

/// A scan within each warp, and votes.
__device__ void test_warp_functions(const int* x, int* scan, unsigned* votes) {
  const int i = static_cast<int>(thread_of_grid()), lane = i % 32;
  int value = x[i];
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(~0U, value, step);
    if (lane >= step) value += below;
  }
  scan[i] = value;
  const unsigned odd = __ballot_sync(~0U, x[i] % 2);
  const int any = __any_sync(~0U, x[i] > 1000), all = __all_sync(~0U, x[i] < 1000);
  const int broadcast = __shfl_sync(~0U, i, 3), next = __shfl_down_sync(~0U, i, 1, 8);
  if (lane == 7) {
    votes[i / 32] = odd;
    scan[i] += 1000 * any + 10000 * all + 100000 * (broadcast % 32) + 1000000 * (next == i);
  }
}

/// The index of each thread of a grid and a block with three axes.
__device__ void test_indices(int* y) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  y[block * blockDim.x * blockDim.y * blockDim.z + thread] = static_cast<int>(1000 * block + thread);
}

/// Lanes of a warp exchange values through shared memory.
__device__ void test_warp_barrier(const int* x, int* y) {
  __shared__ int values[64];
  values[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = values[threadIdx.x ^ 1];
}

/// Counts in a block, by barriers that count, and by atomics of all kinds.
__device__ void test_atomics(const int* x, int* y) {
  const int i = threadIdx.x;
  const int positive = __syncthreads_count(x[i] > 0), any = __syncthreads_or(x[i] > 50),
            all = __syncthreads_and(x[i] > 0);
  atomicMax(&y[0], x[i]);
  atomicMin(&y[1], x[i]);
  atomicOr(&y[2], 1 << (i % 8));
  atomicCAS(&y[3], 0, 5);
  atomicSub(&y[4], 1);
  if (i == 0) {
    y[5] = positive;
    y[6] = any;
    y[7] = all;
  }
}

/// C [16, 8] = A [16, 16] B [16, 8] for f32 operands rounded to bf16, by one warp, in shared memory.
__device__ void test_multiply_bf16(const float* a, const float* b, bf16* rounded, float* c) {
  __shared__ __align__(16) bf16 a_tile[16 * 16], b_tile[16 * 8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) rounded[i] = to_bf16(a[i]);
  for (int i = lane; i < 128; i += 32) rounded[256 + i] = to_bf16(b[i]);
  __syncwarp();
  copy_async<16>(a_tile + 8 * lane, rounded + 8 * lane);
  commit_copies();
  copy_async<8>(b_tile + 4 * lane, rounded + 256 + 4 * lane);
  commit_copies();
  wait_for_copies<1>();
  __syncwarp();
  uint32_t a_part[4], b_parts[4];
  const int matrix = lane / 8, row = lane % 8;
  load_matrices(a_part, a_tile + (row + 8 * (matrix % 2)) * 16 + 8 * (matrix / 2));
  wait_for_copies();
  __syncwarp();
  load_transposed_matrices(b_parts, b_tile + (row + 8 * (matrix % 2)) * 8);
  const uint32_t b_part[2] = {b_parts[0], b_parts[1]};
  float sums[4] = {0, 0, 0, 0};
  multiply_bf16(sums, a_part, b_part);
  for (int i = 0; i < 4; ++i) c[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2] = sums[i];
}

/// C [16, 8] = A [16, 8] B [8, 8] for f32 operands rounded to tf32, by one warp.
__device__ void test_multiply_tf32(const float* a, const float* b, float* c) {
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  const uint32_t a_part[4] = {to_tf32(a[g * 8 + t]), to_tf32(a[(g + 8) * 8 + t]), to_tf32(a[g * 8 + t + 4]),
                              to_tf32(a[(g + 8) * 8 + t + 4])};
  const uint32_t b_part[2] = {to_tf32(b[t * 8 + g]), to_tf32(b[(t + 4) * 8 + g])};
  float sums[4] = {0, 0, 0, 0};
  multiply_tf32(sums, a_part, b_part);
  for (int i = 0; i < 4; ++i) c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = sums[i];
}

/// C [8, 8] = A [8, 4] B [4, 8], by one warp.
__device__ void test_multiply_f64(const double* a, const double* b, double* c) {
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  double sums[2] = {0, 0};
  multiply_f64(sums, a[g * 4 + t], b[t * 8 + g]);
  for (int i = 0; i < 2; ++i) c[g * 8 + 2 * t + i] = sums[i];
}

/// Copies `valid` of 16 bytes per thread; the rest becomes zero.
__device__ void test_copy_with_zeros(int valid, const int* x, int* y) {
  __shared__ __align__(16) int values[4 * 32];
  const int i = threadIdx.x;
  copy_async<16>(values + 4 * i, x + 4 * i, valid);
  commit_copies();
  wait_for_copies();
  for (int j = 0; j < 4; ++j) y[4 * i + j] = values[4 * i + j];
}

}  // namespace

TAPE_EXPORT(test_softmax, (int64_t cols, const T* x, T* y), (cols, x, y))
TAPE_EXPORT_AS(test_softmax_without_1, (test_softmax<float, 1>), (int64_t cols, const float* x, float* y), (cols, x, y))
TAPE_EXPORT_AS(test_softmax_without_2, (test_softmax<float, 2>), (int64_t cols, const float* x, float* y), (cols, x, y))
TAPE_EXPORT_AS(test_softmax_without_3, (test_softmax<float, 3>), (int64_t cols, const float* x, float* y), (cols, x, y))
TAPE_EXPORT_ONE(test_early_return, (int n, const int* x, int* y), (n, x, y))
TAPE_EXPORT_ONE(test_last_block, (const int* x, int* sums, unsigned* counter, int* total), (x, sums, counter, total))
TAPE_EXPORT_ONE(test_warp_functions, (const int* x, int* scan, unsigned* votes), (x, scan, votes))
TAPE_EXPORT_ONE(test_indices, (int* y), (y))
TAPE_EXPORT_ONE(test_warp_barrier, (const int* x, int* y), (x, y))
TAPE_EXPORT_ONE(test_atomics, (const int* x, int* y), (x, y))
TAPE_EXPORT_ONE(test_multiply_bf16, (const float* a, const float* b, bf16* rounded, float* c), (a, b, rounded, c))
TAPE_EXPORT_ONE(test_multiply_tf32, (const float* a, const float* b, float* c), (a, b, c))
TAPE_EXPORT_ONE(test_multiply_f64, (const double* a, const double* b, double* c), (a, b, c))
TAPE_EXPORT_ONE(test_copy_with_zeros, (int valid, const int* x, int* y), (valid, x, y))
