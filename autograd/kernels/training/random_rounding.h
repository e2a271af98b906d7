#pragma once

#include <stdint.h>

#include "../../../base/split_mix.h"

// Rounding to bf16 at random, for kernels of the CPU and of GPUs. Always inlined, so that each kernel compiles it for
// its own CPU level.
namespace tape::kernels {

/// 64 random bits that depend on the counter only.
__attribute__((always_inline)) inline constexpr uint64_t random_bits(uint64_t counter) {
  return split_mix(counter * kSplitMixGamma);
}

/// bf16 bits of one of the two neighbors of a finite f32 with these bits. `random` has 16 uniform bits; the expected
/// result is the value.
__attribute__((always_inline)) inline constexpr uint16_t rounded_at_random(uint32_t f32_bits, uint16_t random) {
  return static_cast<uint16_t>((f32_bits + random) >> 16);
}

}  // namespace tape::kernels
