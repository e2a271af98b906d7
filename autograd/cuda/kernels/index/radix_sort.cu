// A stable radix sort of 64-bit keys with positions, 8 bits a pass. It serves writes to repeated indices, which are
// grouped by their place so that no result depends on the order of threads, and sorting of values.
//
// A pass: radix_count counts the digits of each tile of keys, exclusive_sums of counts [digit, tile] gives the first
// output position of each digit of each tile, radix_place moves the keys there in their order.
#include "autograd/cuda/kernels/device.h"

namespace {

constexpr int kThreads = 256;  // of a block; the number of digits too, since each thread counts one of them
constexpr int kWarps = kThreads / 32;
constexpr int kRounds = 8;  // keys per thread of a tile

__device__ int digit_of(uint64_t key, int shift) { return static_cast<int>((key >> shift) & 255); }

/// order[i] = i.
__device__ void radix_start(int64_t n, int64_t* order) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) order[i] = i;
}

/// counts[digit, tile] = number of keys of the tile with this digit. A block per tile.
__device__ void radix_count(int64_t n, int shift, const uint64_t* keys, int64_t* counts) {
  __shared__ int of_tile[kThreads];
  of_tile[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kThreads * kRounds;
  for (int64_t i = begin + threadIdx.x; i < n && i < begin + kThreads * kRounds; i += kThreads)
    atomicAdd(&of_tile[digit_of(keys[i], shift)], 1);
  __syncthreads();
  counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x] = of_tile[threadIdx.x];
}

/// Lanes of this warp with the same digit, of those with a key.
__device__ unsigned lanes_with(int digit, bool has_key) {
  unsigned lanes = __ballot_sync(~0U, has_key);
  for (int bit = 0; bit < 8; ++bit) {
    const unsigned set = __ballot_sync(~0U, digit >> bit & 1);
    lanes &= digit >> bit & 1 ? set : ~set;
  }
  return lanes;
}

/// Moves the keys and positions of a tile to first[digit, tile] and the following places, in their order.
__device__ void radix_place(int64_t n, int shift, const uint64_t* keys, const int64_t* order, const int64_t* first,
                            uint64_t* keys_out, int64_t* order_out) {
  __shared__ int64_t of_warps[kWarps][kThreads];  // the number of each digit's keys, then where the first of them goes
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kThreads * kRounds;
  // Where the next key goes whose digit is this thread's index.
  int64_t next = first[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x];
  for (int64_t round = begin; round < n && round < begin + kThreads * kRounds; round += kThreads) {
    for (int w = 0; w < kWarps; ++w) of_warps[w][threadIdx.x] = 0;
    __syncthreads();
    const int64_t i = round + threadIdx.x;
    const bool has_key = i < n;
    const uint64_t key = has_key ? keys[i] : 0;
    const int digit = digit_of(key, shift);
    const unsigned lanes = lanes_with(digit, has_key);
    const int rank = __popc(lanes & ((1U << lane) - 1));
    if (has_key && rank == 0) of_warps[warp][digit] = __popc(lanes);
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) {
      const int64_t count = of_warps[w][threadIdx.x];
      of_warps[w][threadIdx.x] = next;
      next += count;
    }
    __syncthreads();
    if (has_key) {
      const int64_t to = of_warps[warp][digit] + rank;
      keys_out[to] = key;
      order_out[to] = order[i];
    }
    __syncthreads();
  }
}

}  // namespace

TAPE_EXPORT_ONE(radix_start, (int64_t n, int64_t* order), (n, order))
TAPE_EXPORT_ONE(radix_count, (int64_t n, int shift, const uint64_t* keys, int64_t* counts), (n, shift, keys, counts))
TAPE_EXPORT_ONE(radix_place,
                (int64_t n, int shift, const uint64_t* keys, const int64_t* order, const int64_t* first,
                 uint64_t* keys_out, int64_t* order_out),
                (n, shift, keys, order, first, keys_out, order_out))
