#pragma once

#include "../../kernels/random/common/random_draw.h"
#include "bf16.h"
#include "dropped.h"

/// A value, or 0 if its draw drops it.
template <class T>
__device__ TAPE_INLINE T dropped(const Dropped<Compute<T>>& dropout, T value, uint32_t draw) {
  return narrowed<T>(draw >= dropout.least ? widened(value) * dropout.scale : Compute<T>(0));
}

/// The draws of kSize values from value i on. If kSize is a multiple of 4, so is the number of the first draw: four
/// values share a block of random numbers, which takes longer than reading and writing them.
template <int kSize, class S>
__device__ TAPE_INLINE void fill_draws(const Dropped<S>& dropout, int64_t i, uint32_t (&draws)[kSize]) {
  const uint64_t first = dropout.counter + static_cast<uint64_t>(i);
  if constexpr (kSize % 4 == 0) {
    TAPE_UNROLL for (int at = 0; at < kSize; at += 4) {
      const tape::kernels::PhiloxBlock block =
          tape::kernels::stream_block(dropout.seed, (first + static_cast<uint64_t>(at)) / 4);
      TAPE_UNROLL for (int word = 0; word < 4; ++word) draws[at + word] = block.word[word];
    }
  } else {
    TAPE_UNROLL for (int j = 0; j < kSize; ++j) draws[j] =
        tape::kernels::philox_draw(dropout.seed, first + static_cast<uint64_t>(j));
  }
}
