#pragma once

#include "../../../kernels/random/common/random_draw.h"
#include "../bf16.h"
#include "../packs.h"
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

/// Drops the values from value i on, with draws as above.
template <class T, int kSize>
__device__ TAPE_INLINE void drop(const Dropped<Compute<T>>& dropout, int64_t i, Pack<T, kSize>& pack) {
  uint32_t draws[kSize];
  fill_draws(dropout, i, draws);
  TAPE_UNROLL for (int j = 0; j < kSize; ++j) pack.values[j] = dropped(dropout, pack.values[j], draws[j]);
}

/// y[i] = f(others[i], dropout(x)[i]). y may be x or `others`.
template <class T, class F>
__device__ TAPE_INLINE void map_dropped(int64_t n, const Dropped<Compute<T>>& dropout, const T* others, const T* x,
                                        T* y, const F& f) {
  constexpr int kWidth = kPackSize<T>, kSize = kWidth < 4 ? 4 : kWidth;
  const bool aligned = has_packs<kWidth>(others) && has_packs<kWidth>(x) && has_packs<kWidth>(y);
  for_packs<kSize>(
      n, dropout.counter % 4 == 0 && aligned,
      [&](int64_t i) {
        uint32_t draws[kSize];
        fill_draws(dropout, i, draws);
        TAPE_UNROLL for (int at = 0; at < kSize; at += kWidth) {
          const Pack<T, kWidth> other = load_pack<kWidth>(others + i + at);
          Pack<T, kWidth> pack = load_pack<kWidth>(x + i + at);
          TAPE_UNROLL for (int j = 0; j < kWidth; ++j) pack.values[j] =
              f(other.values[j], dropped(dropout, pack.values[j], draws[at + j]));
          store_pack(y + i + at, pack);
        }
      },
      [&](int64_t i) {
        const uint32_t draw = tape::kernels::philox_draw(dropout.seed, dropout.counter + static_cast<uint64_t>(i));
        y[i] = f(others[i], dropped(dropout, x[i], draw));
      });
}
