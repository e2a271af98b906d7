#include "autograd/kernels/index/common/take.h"

#include <algorithm>

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const SizedKernels kTake = TAPE_SIZED_KERNELS(take), kGather = TAPE_SIZED_KERNELS(gather);
constinit const SizedKernels kPutLast = TAPE_SIZED_KERNELS(put_last), kScatterLast = TAPE_SIZED_KERNELS(scatter_last);
constinit const Kernel kFindLastSlices("find_last_slices"), kFindLast("find_last"), kMarkLast("mark_last");
constinit const Kernel kSetFlag("set_flag"), kNotePosition("note_position");
constinit const Kernel kCheckIndex("check_index"), kCheckFlags("check_flags");
constinit const Kernel kBincount("bincount"), kCountTrue("count_true"), kUnravel("unravel");
constinit const Kernel kCountOfBlocks("count_of_blocks"), kExclusiveSums("exclusive_sums"), kNonzero("nonzero");

constexpr uint8_t kAllOnes = 0xff;  // each byte of -1

void take_slices(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
                 const int64_t* index, void* y) {
  // In units of up to 8 bytes.
  while (element_size < 8 && inner % 2 == 0 && begin_at_multiples(2 * element_size, x, y)) {
    element_size *= 2;
    inner /= 2;
  }
  const int64_t n = outer * count * inner;
  launch_elements(kTake.of(element_size), n, n, size, inner, x, count, index, y);
}

void gather(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
            const int64_t* index, void* y) {
  const int64_t n = outer * count * inner;
  launch_elements(kGather.of(element_size), n, n, size, inner, x, count, index, y);
}

void put(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count, const int64_t* index,
         const void* y) {
  const int64_t n = outer * count * inner;
  if (size == 0 || n == 0) return;
  const DeviceScratch<int64_t> latest(size, kAllOnes);
  launch_elements(kFindLastSlices, count, count, index, latest.get());
  launch_elements(kPutLast.of(element_size), n, n, size, inner, x, count, index, latest.constant(), y);
}

/// Finds the last c of each place of n elements.
void find_last(int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index,
               const DeviceScratch<int64_t>& latest) {
  launch_elements(kFindLast, n, n, size, inner, count, index, latest.get());
}

void scatter(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
             const int64_t* index, const void* y) {
  const int64_t n = outer * count * inner;
  if (size == 0 || n == 0) return;
  const DeviceScratch<int64_t> latest(outer * size * inner, kAllOnes);
  find_last(n, size, inner, count, index, latest);
  launch_elements(kScatterLast.of(element_size), n, n, size, inner, x, count, index, latest.constant(), y);
}

void mark_last(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index, bool* last,
               bool* repeated) {
  const int64_t n = outer * count * inner;
  if (n == 0) {
    if (repeated) cuda_device::fill_bytes(repeated, 0, 1);
    return;
  }
  const DeviceScratch<int64_t> latest(outer * size * inner, kAllOnes);
  find_last(n, size, inner, count, index, latest);
  const DeviceScratch<int> repeats(1, 0);
  launch_elements(kMarkLast, n, n, size, inner, count, index, latest.constant(), last, repeats.get());
  if (repeated) kSetFlag({1}, {1}, repeats.constant(), repeated);
}

/// One block with a thread per value, as far as a block has them.
cuda_device::Grid block_for(int64_t n) {
  constexpr int64_t kWarp = 32, kMost = 1024;
  return {static_cast<uint32_t>(std::clamp(quotient_up(n, kWarp) * kWarp, kWarp, kMost))};
}

void check_index(const IndexRange& range, const int64_t* index, int64_t* kept, int64_t number, Finding* finding) {
  const int64_t n = range.lines * range.count;
  if (n > 0) kCheckIndex({1}, block_for(n), range, index, kept, number, finding);
}

void check_flags(int64_t n, const bool* flags, int64_t number, Finding* finding) {
  if (n > 0) kCheckFlags({1}, block_for(n), n, flags, number, finding);
}

void note_position(const int64_t* position, int64_t number, Finding* finding) {
  kNotePosition({1}, {1}, position, number, finding);
}

void bincount(int64_t n, const int64_t* ids, int64_t* counts) { launch_elements(kBincount, n, n, ids, counts); }

void count_true(int64_t n, const bool* flags, int64_t* count) {
  cuda_device::fill_bytes(count, 0, sizeof(int64_t));
  launch_elements(kCountTrue, n, n, flags, count);
}

void nonzero(int64_t n, const bool* flags, int64_t* places) {
  if (n == 0) return;
  constexpr int64_t kFlagsPerBlock = 8 * kThreads;
  const int64_t blocks = (n + kFlagsPerBlock - 1) / kFlagsPerBlock;
  const cuda_device::Grid grid{static_cast<uint32_t>(blocks)}, threads{static_cast<uint32_t>(kThreads)};
  const DeviceScratch<int64_t> first(blocks);
  kCountOfBlocks(grid, threads, n, flags, first.get());
  kExclusiveSums({1}, threads, blocks, first.constant(), first.get());
  kNonzero(grid, threads, n, flags, first.constant(), places);
}

void unravel(int64_t n, const int64_t* positions, const Sizes& sizes, int64_t* index) {
  launch_elements(kUnravel, n, n, positions, sizes, index);
}

}  // namespace

extern const TakeKernels take = {.take = take_slices,
                                 .gather = gather,
                                 .put = put,
                                 .scatter = scatter,
                                 .mark_last = mark_last,
                                 .check_index = check_index,
                                 .check_flags = check_flags,
                                 .note_position = note_position,
                                 .bincount = bincount,
                                 .count_true = count_true,
                                 .nonzero = nonzero,
                                 .unravel = unravel};

}  // namespace tape::kernels::cuda
