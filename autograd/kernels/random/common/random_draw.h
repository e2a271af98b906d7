#pragma once

#include <cstdint>

namespace tape::kernels {

/// The block function of Philox4x32-10 (Salmon et al. 2011): ten rounds on a counter of four words with a key of two.
/// Streams count blocks in words 0 and 1 (words 2 and 3 are zero) and use their seed as key, low word first.
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/// The 32-bit draw of one element (word i % 4 of Philox block i / 4), which dropout compares with p * 2^32.
uint32_t philox_draw(uint64_t seed, uint64_t element);
/// The 64-bit draw of one element, for integers (shuffles, sampling): words (0,1) or (2,3) of block i / 2.
uint64_t philox_draw64(uint64_t seed, uint64_t element);

}  // namespace tape::kernels
