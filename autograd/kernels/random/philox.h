#pragma once

// Philox4x32-10 (Salmon et al. 2011, section 3.3), many blocks at a time.

#include "../vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {

/// Number of blocks computed together: several vectors, to hide the latency of multiplications.
inline constexpr int kBlocks = 16;
/// Extra buffer size that draws() needs beyond n values, because a stream may begin inside a block.
inline constexpr int64_t kDrawPadding = 4 * kBlocks + 4;
/// An element is one of four words, so block indices wrap at 2^62 where element indices wrap at 2^64.
inline constexpr uint64_t kBlockMask = ~uint64_t{0} >> 2;

typedef uint64_t U64 __attribute__((vector_size(TAPE_VECTOR_BYTES)));

/// The 64-bit products of the low halves of 64-bit lanes.
TAPE_INLINE U64 product_of_low_halves(U64 a, U64 b) {
#if defined(__AVX512F__)
  return (U64)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (U64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
  return (a & 0xffffffffU) * (b & 0xffffffffU);
#endif
}

/// out[2 i] = a[i], out[2 i + 1] = b[i].
TAPE_INLINE void store_interleaved(U64 a, U64 b, uint32_t* out) {
#if defined(__AVX512F__)
  const U64 first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11),
            second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#elif defined(__AVX2__)
  const U64 first = __builtin_shufflevector(a, b, 0, 4, 1, 5), second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#else
  const U64 first = __builtin_shufflevector(a, b, 0, 2), second = __builtin_shufflevector(a, b, 1, 3);
#endif
  __builtin_memcpy(out, &first, sizeof(U64));
  __builtin_memcpy(out + sizeof(U64) / sizeof(uint32_t), &second, sizeof(U64));
}

/// out[4 j + w] = word w of block (block + j) mod (mask + 1), for j < kBlocks. A word is the low half of a 64-bit lane;
/// the high half is ignored.
static inline void philox_blocks(uint64_t seed, uint64_t block, uint64_t mask, uint32_t* __restrict out) {
  constexpr int kWide = TAPE_VECTOR_BYTES / 8, kGroups = kBlocks / kWide;
  U64 c0[kGroups], c1[kGroups], c2[kGroups] = {}, c3[kGroups] = {};
  for (int g = 0; g < kGroups; ++g) {
    c0[g] = ((U64)lane_numbers(0.0) + (block + static_cast<uint64_t>(g * kWide))) & mask;
    c1[g] = c0[g] >> 32;
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  const U64 m0 = U64{} + 0xD2511F53U, m1 = U64{} + 0xCD9E8D57U;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
      const U64 p0 = product_of_low_halves(c0[g], m0), p1 = product_of_low_halves(c2[g], m1);
      c0[g] = (p1 >> 32) ^ c1[g] ^ k0;
      c2[g] = (p0 >> 32) ^ c3[g] ^ k1;
      c1[g] = p1;
      c3[g] = p0;
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (int g = 0; g < kGroups; ++g)
    store_interleaved((c0[g] & 0xffffffffU) | (c1[g] << 32), (c2[g] & 0xffffffffU) | (c3[g] << 32),
                      out + 4 * g * kWide);
}

/// Writes the 32-bit draws of elements [element, element + n) into `buffer` (n + kDrawPadding values) and returns the
/// address of the first.
static inline const uint32_t* draws(uint64_t seed, uint64_t element, int64_t n, uint32_t* buffer) {
  const int64_t skipped = static_cast<int64_t>(element & 3);
  uint64_t block = element >> 2;
  for (int64_t done = 0; done < n + skipped; done += 4 * kBlocks, block += kBlocks)
    philox_blocks(seed, block, kBlockMask, buffer + done);
  return buffer + skipped;
}

/// Dropout keeps a value if its draw is not below this threshold; 2^32 keeps nothing.
TAPE_INLINE uint64_t drop_below(double p) {
  return p <= 0 ? 0 : p >= 1 ? uint64_t{1} << 32 : static_cast<uint64_t>(p * 4294967296.0);
}

}  // namespace tape::kernels::TAPE_LEVEL
