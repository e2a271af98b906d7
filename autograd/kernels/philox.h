#pragma once

// Philox4x32-10 (Salmon et al. 2011, section 3.3), many blocks at a time.

#include "autograd/kernels/level.h"

namespace tape::kernels::TAPE_LEVEL {

/// Blocks made together, their words side by side so that the rounds vectorize.
inline constexpr int kBlocks = 16;
/// Room that draws() needs beyond the n values asked for, on each side of a stream that begins anywhere.
inline constexpr int64_t kDrawRoom = 4 * kBlocks + 4;
/// An element is one of four words, so block numbers wrap at 2^62 where elements wrap at 2^64.
inline constexpr uint64_t kBlockMask = ~uint64_t{0} >> 2;

/// out[4 j + w] = word w of block (block + j) mod (mask + 1), for j < kBlocks.
static inline void philox_blocks(uint64_t seed, uint64_t block, uint64_t mask, uint32_t* __restrict out) {
  alignas(64) uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks] = {}, c3[kBlocks] = {};
#pragma omp simd
  for (int j = 0; j < kBlocks; ++j) {
    const uint64_t number = (block + static_cast<uint64_t>(j)) & mask;
    c0[j] = static_cast<uint32_t>(number);
    c1[j] = static_cast<uint32_t>(number >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int j = 0; j < kBlocks; ++j) {
      const uint64_t p0 = uint64_t{0xD2511F53U} * c0[j], p1 = uint64_t{0xCD9E8D57U} * c2[j];
      const uint32_t next0 = static_cast<uint32_t>(p1 >> 32) ^ c1[j] ^ k0;
      const uint32_t next2 = static_cast<uint32_t>(p0 >> 32) ^ c3[j] ^ k1;
      c1[j] = static_cast<uint32_t>(p1);
      c3[j] = static_cast<uint32_t>(p0);
      c0[j] = next0;
      c2[j] = next2;
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (int j = 0; j < kBlocks; ++j) {
    out[4 * j] = c0[j];
    out[4 * j + 1] = c1[j];
    out[4 * j + 2] = c2[j];
    out[4 * j + 3] = c3[j];
  }
}

/// The 32-bit draws of elements [element, element + n), written into buffer (n + kDrawRoom values); returns where they
/// begin.
static inline const uint32_t* draws(uint64_t seed, uint64_t element, int64_t n, uint32_t* buffer) {
  const int64_t skipped = static_cast<int64_t>(element & 3);
  uint64_t block = element >> 2;
  for (int64_t done = 0; done < n + skipped; done += 4 * kBlocks, block += kBlocks)
    philox_blocks(seed, block, kBlockMask, buffer + done);
  return buffer + skipped;
}

/// A value is kept where its draw is not below this; 2^32 keeps nothing.
TAPE_INLINE uint64_t drop_below(double p) {
  return p <= 0 ? 0 : p >= 1 ? uint64_t{1} << 32 : static_cast<uint64_t>(p * 4294967296.0);
}

}  // namespace tape::kernels::TAPE_LEVEL
