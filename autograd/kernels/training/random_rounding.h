#pragma once

#include <stdint.h>

// Rounding to bf16 at random, for kernels of the CPU and of GPUs. Always inlined, so that each kernel compiles it for
// its own CPU level.
namespace tape::kernels {

/// SplitMix64 (Steele et al. 2014), whose outputs for neighboring counters are uncorrelated.
__attribute__((always_inline)) inline constexpr uint64_t split_mix(uint64_t counter) {
  uint64_t x = counter * 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

/// bf16 bits of one of the two neighbors of a finite f32 with these bits. `random` has 16 uniform bits; the expected
/// result is the value.
__attribute__((always_inline)) inline constexpr uint16_t rounded_at_random(uint32_t f32_bits, uint16_t random) {
  return static_cast<uint16_t>((f32_bits + random) >> 16);
}

}  // namespace tape::kernels
