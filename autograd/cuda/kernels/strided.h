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

/// out = f(a, b), broadcast.
template <class T, class Out, class F>
__device__ TAPE_INLINE void for_pairs(int64_t n, const tape::kernels::Broadcast& plan, const T* a, const T* b, Out* out,
                                      const F& f) {
  if (plan.rank <= 1 && plan.strides[0][0] == 1 && plan.strides[1][0] == 1) return map_pairs(n, a, b, out, f);
  for_broadcast<2>(n, plan, [&](int64_t i, const int64_t(&at)[2]) { out[i] = f(a[at[0]], b[at[1]]); });
}
