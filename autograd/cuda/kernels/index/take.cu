// Kernels of TakeKernels (autograd/kernels/index/common/take.h).
#include "autograd/cuda/kernels/sized.h"
#include "autograd/kernels/index/common/index_range.h"
#include "autograd/kernels/runtime/common/axes.h"
#include "autograd/kernels/runtime/common/finding.h"

using tape::kernels::Finding;
using tape::kernels::IndexRange;
using tape::kernels::Sizes;

namespace {

constexpr int kThreads = 256;
constexpr int kFlagsPerThread = 8;  // of nonzero

/// y [outer, count, inner] = x[o, index[c], i].
template <class E>
__device__ void take(int64_t n, int64_t size, int64_t inner, const E* x, int64_t count, const int64_t* index, E* y) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t line = e / inner;
    y[e] = x[(line / count * size + index[line % count]) * inner + e % inner];
  }
}

/// y [outer, count, inner] = x[o, index[o, c, i], i].
template <class E>
__device__ void gather(int64_t n, int64_t size, int64_t inner, const E* x, int64_t count, const int64_t* index, E* y) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid())
    y[e] = x[(e / inner / count * size + index[e]) * inner + e % inner];
}

// Of several writes to one place the last must win, whatever the order of the threads. Kernels that find the last c of
// each place as a maximum run first: latest[place] starts as -1.

/// latest[index[c]] = the last c with this index.
__device__ void find_last_slices(int64_t count, const int64_t* index, int64_t* latest) {
  for (int64_t c = thread_of_grid(); c < count; c += threads_of_grid())
    atomicMax(reinterpret_cast<long long*>(latest + index[c]), static_cast<long long>(c));
}

/// x[o, index[c], i] = y[o, c, i] for the c in `latest`.
template <class E>
__device__ void put_last(int64_t n, int64_t size, int64_t inner, E* x, int64_t count, const int64_t* index,
                         const int64_t* latest, const E* y) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t line = e / inner, c = line % count, at = index[c];
    if (latest[at] == c) x[(line / count * size + at) * inner + e % inner] = y[e];
  }
}

/// latest[o, index[o, c, i], i] = the last c with this index.
__device__ void find_last(int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                          int64_t* latest) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t line = e / inner;
    atomicMax(reinterpret_cast<long long*>(latest + (line / count * size + index[e]) * inner + e % inner),
              static_cast<long long>(line % count));
  }
}

/// x[o, index[o, c, i], i] = y[o, c, i] for the c in `latest`.
template <class E>
__device__ void scatter_last(int64_t n, int64_t size, int64_t inner, E* x, int64_t count, const int64_t* index,
                             const int64_t* latest, const E* y) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t line = e / inner, place = (line / count * size + index[e]) * inner + e % inner;
    if (latest[place] == line % count) x[place] = y[e];
  }
}

/// last[e] = whether the c of element e is in `latest`; *repeats = 1 if one is not.
__device__ void mark_last(int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                          const int64_t* latest, bool* last, int* repeats) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t line = e / inner;
    last[e] = latest[(line / count * size + index[e]) * inner + e % inner] == line % count;
    if (!last[e]) atomicOr(repeats, 1);
  }
}

__device__ void set_flag(const int* value, bool* flag) { *flag = *value != 0; }

constexpr unsigned long long kNone = ~0ULL;

/// The smallest position of the threads of a block, in all of them; kNone where a thread has none.
__device__ unsigned long long first_of_block(unsigned long long mine) {
  __shared__ unsigned long long first;
  if (threadIdx.x == 0) first = kNone;
  __syncthreads();
  if (mine != kNone) atomicMin(&first, mine);
  __syncthreads();
  return first;
}

/// By one block, since checks are short, and positions must be compared.
__device__ void check_index(IndexRange range, const int64_t* index, int64_t* kept, int64_t number, Finding* finding) {
  unsigned long long mine = kNone;
  const auto place = [&](int64_t i) { return i / range.count * range.stride + i % range.count; };
  for (int64_t i = threadIdx.x; i < range.lines * range.count; i += blockDim.x) {
    const int64_t value = index[place(i)];
    if (mine == kNone && !range.accepts(value)) mine = static_cast<unsigned long long>(i);
    if (kept) kept[i] = range.kept(value);
  }
  const auto first = static_cast<int64_t>(first_of_block(mine));
  if (threadIdx.x == 0 && first >= 0 && finding->check == 0) *finding = {number, first, index[place(first)]};
}

__device__ void check_flags(int64_t n, const bool* flags, int64_t number, Finding* finding) {
  unsigned long long mine = kNone;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
    if (mine == kNone && flags[i]) mine = static_cast<unsigned long long>(i);
  const auto first = static_cast<int64_t>(first_of_block(mine));
  if (threadIdx.x == 0 && first >= 0 && finding->check == 0) *finding = {number, first, 1};
}

__device__ void note_position(const int64_t* position, int64_t number, Finding* finding) {
  if (finding->check == 0 && *position >= 0) *finding = {number, *position, 0};
}

/// counts[id] += 1 for each id; sums of integers do not depend on their order.
__device__ void bincount(int64_t n, const int64_t* ids, int64_t* counts) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid())
    atomicAdd(reinterpret_cast<unsigned long long*>(counts + ids[i]), 1ULL);
}

/// Sum over the warp, in lane 0.
__device__ int64_t warp_sum(int64_t value) {
  for (int step = 16; step; step /= 2) value += __shfl_down_sync(~0U, value, step);
  return value;
}

/// *count += number of set flags.
__device__ void count_true(int64_t n, const bool* flags, int64_t* count) {
  int64_t mine = 0;
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) mine += flags[i] ? 1 : 0;
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0 && mine)
    atomicAdd(reinterpret_cast<unsigned long long*>(count), static_cast<unsigned long long>(mine));
}

/// Sum of the values of all threads before this one, in blocks of kThreads; `total` is the sum of all.
__device__ int64_t sum_before(int64_t value, int64_t& total) {
  __shared__ int64_t of_warps[kThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t through = value;  // the sum of this warp's lanes up to this one
  for (int step = 1; step < 32; step *= 2) {
    const int64_t before = __shfl_up_sync(~0U, through, step);
    if (lane >= step) through += before;
  }
  if (lane == 31) of_warps[warp] = through;
  __syncthreads();
  int64_t first = 0;
  total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) first += of_warps[w];
    total += of_warps[w];
  }
  __syncthreads();
  return first + through - value;
}

/// sums[i] = values[0] + ... + values[i - 1], by one block; sums may be values.
__device__ void exclusive_sums(int64_t n, const int64_t* values, int64_t* sums) {
  int64_t before = 0;
  for (int64_t begin = 0; begin < n; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    int64_t total;
    const int64_t sum = before + sum_before(i < n ? values[i] : 0, total);
    if (i < n) sums[i] = sum;
    before += total;
  }
}

/// Number of set flags of this thread, which has kFlagsPerThread consecutive ones.
__device__ int64_t flags_of_thread(int64_t n, const bool* flags) {
  int64_t count = 0;
  const int64_t begin = thread_of_grid() * kFlagsPerThread;
  for (int64_t i = begin; i < n && i < begin + kFlagsPerThread; ++i) count += flags[i] ? 1 : 0;
  return count;
}

/// counts[block] = number of set flags of each block.
__device__ void count_of_blocks(int64_t n, const bool* flags, int64_t* counts) {
  int64_t total;
  sum_before(flags_of_thread(n, flags), total);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

/// Writes the positions of set flags, in order; first[block] is the number of those of earlier blocks.
__device__ void nonzero(int64_t n, const bool* flags, const int64_t* first, int64_t* places) {
  int64_t total;
  int64_t at = first[blockIdx.x] + sum_before(flags_of_thread(n, flags), total);
  const int64_t begin = thread_of_grid() * kFlagsPerThread;
  for (int64_t i = begin; i < n && i < begin + kFlagsPerThread; ++i)
    if (flags[i]) places[at++] = i;
}

/// index [n, rank]: multi-indices of flat row-major positions.
__device__ void unravel(int64_t n, const int64_t* positions, Sizes sizes, int64_t* index) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
    int64_t rest = positions[i];
    // Unrolled as in strided.h.
    TAPE_UNROLL for (int d = tape::kernels::kMaxRank - 1; d >= 0; --d) {
      if (d >= sizes.rank) continue;
      index[i * sizes.rank + d] = rest % sizes.values[d];
      rest /= sizes.values[d];
    }
  }
}

}  // namespace

TAPE_EXPORT_SIZES(take, (int64_t n, int64_t size, int64_t inner, const T* x, int64_t count, const int64_t* index, T* y),
                  (n, size, inner, x, count, index, y))
TAPE_EXPORT_SIZES(gather,
                  (int64_t n, int64_t size, int64_t inner, const T* x, int64_t count, const int64_t* index, T* y),
                  (n, size, inner, x, count, index, y))
TAPE_EXPORT_ONE(find_last_slices, (int64_t count, const int64_t* index, int64_t* latest), (count, index, latest))
TAPE_EXPORT_SIZES(put_last,
                  (int64_t n, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index,
                   const int64_t* latest, const T* y),
                  (n, size, inner, x, count, index, latest, y))
TAPE_EXPORT_ONE(find_last,
                (int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index, int64_t* latest),
                (n, size, inner, count, index, latest))
TAPE_EXPORT_SIZES(scatter_last,
                  (int64_t n, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index,
                   const int64_t* latest, const T* y),
                  (n, size, inner, x, count, index, latest, y))
TAPE_EXPORT_ONE(mark_last,
                (int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index, const int64_t* latest,
                 bool* last, int* repeats),
                (n, size, inner, count, index, latest, last, repeats))
TAPE_EXPORT_ONE(set_flag, (const int* value, bool* flag), (value, flag))
TAPE_EXPORT_ONE(check_index, (IndexRange range, const int64_t* index, int64_t* kept, int64_t number, Finding* finding),
                (range, index, kept, number, finding))
TAPE_EXPORT_ONE(check_flags, (int64_t n, const bool* flags, int64_t number, Finding* finding),
                (n, flags, number, finding))
TAPE_EXPORT_ONE(note_position, (const int64_t* position, int64_t number, Finding* finding), (position, number, finding))
TAPE_EXPORT_ONE(bincount, (int64_t n, const int64_t* ids, int64_t* counts), (n, ids, counts))
TAPE_EXPORT_ONE(count_true, (int64_t n, const bool* flags, int64_t* count), (n, flags, count))
TAPE_EXPORT_ONE(exclusive_sums, (int64_t n, const int64_t* values, int64_t* sums), (n, values, sums))
TAPE_EXPORT_ONE(count_of_blocks, (int64_t n, const bool* flags, int64_t* counts), (n, flags, counts))
TAPE_EXPORT_ONE(nonzero, (int64_t n, const bool* flags, const int64_t* first, int64_t* places),
                (n, flags, first, places))
TAPE_EXPORT_ONE(unravel, (int64_t n, const int64_t* positions, Sizes sizes, int64_t* index),
                (n, positions, sizes, index))
