#pragma once

#include <stdint.h>

namespace tape::kernels {

/// The four words of a block.
struct PhiloxBlock {
  uint32_t word[4];
};

/// a b in 64 bits. On a GPU by one instruction, since nvcc adds zeros to those of C++'s own product.
constexpr uint64_t wide_product(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
  uint64_t product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return uint64_t{a} * b;
#endif
}

/// The block function of Philox4x32-10 (Salmon et al. 2011, section 3.3): ten rounds on a counter of four words with a
/// key of two. For the host and for GPUs.
constexpr PhiloxBlock philox_block(PhiloxBlock counter, uint32_t k0, uint32_t k1) {
  auto [c0, c1, c2, c3] = counter.word;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = wide_product(c0, 0xD2511F53U), p1 = wide_product(c2, 0xCD9E8D57U);
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

/// A block of a stream, which counts blocks in words 0 and 1 and uses its seed as key, low word first.
constexpr PhiloxBlock stream_block(uint64_t seed, uint64_t block) {
  return philox_block({{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}},
                      static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

// Words are not indexed by the element, which would put them in a GPU's local memory.

/// The 32-bit draw of one element (word i % 4 of block i / 4), which dropout compares with p * 2^32.
constexpr uint32_t philox_draw(uint64_t seed, uint64_t element) {
  const PhiloxBlock block = stream_block(seed, element >> 2);
  const uint32_t low = element & 1 ? block.word[1] : block.word[0], high = element & 1 ? block.word[3] : block.word[2];
  return element & 2 ? high : low;
}
/// The 64-bit draw of one element, for integers (shuffles, sampling): words (0,1) or (2,3) of block i / 2.
constexpr uint64_t philox_draw64(uint64_t seed, uint64_t element) {
  const PhiloxBlock block = stream_block(seed, element >> 1);
  const uint64_t first = block.word[0] | static_cast<uint64_t>(block.word[1]) << 32,
                 second = block.word[2] | static_cast<uint64_t>(block.word[3]) << 32;
  return element & 1 ? second : first;
}

}  // namespace tape::kernels
