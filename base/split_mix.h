#pragma once

#include <stdint.h>

// SplitMix64 (Steele, Lea and Flood 2014): for the host and for GPUs. Always inlined, so that each kernel compiles it
// for its own CPU level.
namespace tape {

/// The increment of its counter.
inline constexpr uint64_t kSplitMixGamma = 0x9E3779B97F4A7C15U;

/// Its finalizer (variant 13 of Stafford's mixers): a bijection on 64 bits. Values for neighboring multiples of
/// kSplitMixGamma are uncorrelated.
__attribute__((always_inline)) inline constexpr uint64_t split_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace tape
