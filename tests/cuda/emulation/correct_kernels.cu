// Kernels that use what the emulated device offers, without faults.
#include "autograd/cuda/kernels/device.h"

namespace {

/// Softmax of each row, a block per row.
template <class T>
__device__ void test_softmax(int64_t cols, const T* x, T* y) {
  __shared__ T of_warps[32];
  const T* const row = x + static_cast<int64_t>(blockIdx.x) * cols;
  T* const out = y + static_cast<int64_t>(blockIdx.x) * cols;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T most = -INFINITY;
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) most = max(most, row[j]);
  for (int bits = 16; bits; bits /= 2) most = max(most, __shfl_xor_sync(~0U, most, bits));
  if (lane == 0) of_warps[warp] = most;
  __syncthreads();
  for (int w = 0; w < warps; ++w) most = max(most, of_warps[w]);
  __syncthreads();
  T sum = 0;
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) sum += exp(row[j] - most);
  for (int bits = 16; bits; bits /= 2) sum += __shfl_xor_sync(~0U, sum, bits);
  if (lane == 0) of_warps[warp] = sum;
  __syncthreads();
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
  const int positive = __syncthreads_count(x[i] > 0), any = __syncthreads_or(x[i] > 50), all = __syncthreads_and(x[i] > 0);
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

}  // namespace

TAPE_EXPORT(test_softmax, (int64_t cols, const T* x, T* y), (cols, x, y))
TAPE_EXPORT_ONE(test_early_return, (int n, const int* x, int* y), (n, x, y))
TAPE_EXPORT_ONE(test_last_block, (const int* x, int* sums, unsigned* counter, int* total), (x, sums, counter, total))
TAPE_EXPORT_ONE(test_warp_functions, (const int* x, int* scan, unsigned* votes), (x, scan, votes))
TAPE_EXPORT_ONE(test_indices, (int* y), (y))
TAPE_EXPORT_ONE(test_warp_barrier, (const int* x, int* y), (x, y))
TAPE_EXPORT_ONE(test_atomics, (const int* x, int* y), (x, y))
