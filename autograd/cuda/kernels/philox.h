#pragma once

// Philox4x32-10 (Salmon et al. 2011, section 3.3), with the CPU's bits.

#include "device.h"

/// The four words of a block.
struct Words {
  uint32_t word[4];
};

__device__ inline Words philox(uint64_t seed, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(c0) * 0xD2511F53U, p1 = static_cast<uint64_t>(c2) * 0xCD9E8D57U;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

/// The 32-bit draw of an element, a quarter of a block.
__device__ inline uint32_t draw32(uint64_t seed, uint64_t element) {
  const Words words = philox(seed, element >> 2);
  const uint32_t low = element & 1 ? words.word[1] : words.word[0], high = element & 1 ? words.word[3] : words.word[2];
  return element & 2 ? high : low;
}
