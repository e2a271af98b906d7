#pragma once

// Where elements of strided layouts and broadcasts lie.

#include "../../kernels/elementwise/broadcast.h"
#include "../../kernels/runtime/common/axes.h"
#include "packs.h"

/// Offsets of element `i`, in row-major order over `sizes`, for K lists of strides. Index is the type of the divisions,
/// which are much faster with 32 bits. Unrolled, since a kernel would copy a parameter that it indexes by a variable to
/// memory of each thread.
template <class Index, int K>
__device__ TAPE_INLINE void offsets_of(int64_t i, int rank, const int64_t* sizes, const int64_t* const (&strides)[K],
                                       int64_t (&offsets)[K]) {
  TAPE_UNROLL for (int k = 0; k < K; ++k) offsets[k] = 0;
  Index rest = static_cast<Index>(i);
  TAPE_UNROLL for (int d = tape::kernels::kMaxRank - 1; d >= 0; --d) {
    if (d >= rank) continue;
    const Index size = static_cast<Index>(sizes[d]), above = d > 0 ? rest / size : 0;
    const int64_t at = static_cast<int64_t>(rest - above * size);
    TAPE_UNROLL for (int k = 0; k < K; ++k) offsets[k] += at * strides[k][d];
    rest = above;
  }
}

/// Calls visit(i, offsets) for each element i < n of this thread, with its offsets for K lists of strides.
template <int K, class Visit>
__device__ TAPE_INLINE void for_offsets(int64_t n, int rank, const int64_t* sizes, const int64_t* const (&strides)[K],
                                        const Visit& visit) {
  int64_t offsets[K];
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
    if (n <= INT32_MAX)
      offsets_of<uint32_t>(i, rank, sizes, strides, offsets);
    else
      offsets_of<uint64_t>(i, rank, sizes, strides, offsets);
    visit(i, offsets);
  }
}

/// The same for the K operands of a broadcast.
template <int K, class Visit>
__device__ TAPE_INLINE void for_broadcast(int64_t n, const tape::kernels::Broadcast& plan, const Visit& visit) {
  if constexpr (K == 2)
    for_offsets<2>(n, plan.rank, plan.sizes, {plan.strides[0], plan.strides[1]}, visit);
  else
    for_offsets<3>(n, plan.rank, plan.sizes, {plan.strides[0], plan.strides[1], plan.strides[2]}, visit);
}

/// out = f(a, b), broadcast. `row` is the last size, if adjacent elements of a row are adjacent in both operands, else
/// 0.
template <class T, class Out, class F>
__device__ TAPE_INLINE void for_pairs(int64_t n, int64_t row, const tape::kernels::Broadcast& plan, const T* a,
                                      const T* b, Out* out, const F& f) {
  if (row == n) return map_pairs(n, a, b, out, f);
  constexpr int kSize = kPackSize<T, Out>;
  if (row == 0 || row % kSize != 0 || !has_packs<kSize>(out)) {
    for_broadcast<2>(n, plan, [&](int64_t i, const int64_t(&at)[2]) { out[i] = f(a[at[0]], b[at[1]]); });
    return;
  }
  for (int64_t i = thread_of_grid() * kSize; i < n; i += threads_of_grid() * kSize) {
    int64_t at[2];
    if (n <= INT32_MAX)
      offsets_of<uint32_t>(i, plan.rank, plan.sizes, {plan.strides[0], plan.strides[1]}, at);
    else
      offsets_of<uint64_t>(i, plan.rank, plan.sizes, {plan.strides[0], plan.strides[1]}, at);
    const T *const left = a + at[0], *const right = b + at[1];
    Pack<Out, kSize> results;
    if (has_packs<kSize>(left) && has_packs<kSize>(right)) {
      const Pack<T, kSize> x = load_pack<kSize>(left), y = load_pack<kSize>(right);
      TAPE_UNROLL for (int j = 0; j < kSize; ++j) results.values[j] = f(x.values[j], y.values[j]);
    } else {
      TAPE_UNROLL for (int j = 0; j < kSize; ++j) results.values[j] = f(left[j], right[j]);
    }
    store_pack(out + i, results);
  }
}
