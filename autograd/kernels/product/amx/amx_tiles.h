#pragma once

// AMX implementation of the tiles of tile_blocks.h, for files compiled for CPUs that have AMX.

#include <immintrin.h>

#include "tile_blocks.h"

namespace tape::kernels::TAPE_LEVEL {

/// A row of a tile of A or B.
typedef int32_t Pairs __attribute__((vector_size(64)));

// From every 16 bytes of two rows, alternately: halves of one or of two lanes.
TAPE_INLINE Pairs low_ones(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
TAPE_INLINE Pairs high_ones(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
TAPE_INLINE Pairs low_twos(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
TAPE_INLINE Pairs high_twos(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
// Every second 16-byte group of a, then of b.
TAPE_INLINE Pairs even_fours(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}
TAPE_INLINE Pairs odd_fours(Pairs a, Pairs b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}

TAPE_INLINE __m512i rounded(__m512 low, __m512 high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
/// The rounded remainder of values after rounded().
TAPE_INLINE __m512i rounded_rest(__m512 low, __m512 high, __m512i both) {
  __m256i half[2];
  __builtin_memcpy(half, &both, sizeof(half));
  const auto widened = [](__m256i x) { return (__m512)((Pairs)_mm512_maskz_cvtepu16_epi32(0xffff, x) << 16); };
  return rounded(low - widened(half[0]), high - widened(half[1]));
}
TAPE_INLINE __m512 first_of(const float* from, int64_t count) {
  if (count >= 16) return _mm512_loadu_ps(from);
  return count > 0 ? _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), from) : _mm512_setzero_ps();
}

struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

struct Amx {
  TAPE_INLINE void configure() {
    Configuration all;
    for (int t = 0; t < 8; ++t) {
      all.row_bytes[t] = kTileRowBytes;
      all.rows[t] = kTile;
    }
    asm volatile("ldtilecfg %0" : : "m"(all));
  }
  TAPE_INLINE void release() { asm volatile("tilerelease"); }
  template <int t>
  TAPE_INLINE void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(t));
  }
  template <int t>
  TAPE_INLINE void load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(t) : "memory");
  }
  template <int t>
  TAPE_INLINE void store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(t) : "memory");
  }
  template <int c, int a, int b>
  TAPE_INLINE void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int parts>
  TAPE_INLINE void round_row(const float* from, int64_t count, char* to) {
    const __m512 low = first_of(from, count), high = first_of(count > 16 ? from + 16 : from, count - 16);
    const __m512i both = rounded(low, high);
    _mm512_store_si512(to, both);
    if constexpr (parts == 2) _mm512_store_si512(to + kTileBytes, rounded_rest(low, high, both));
  }
  template <int parts>
  TAPE_INLINE void round_columns(const float* first, const float* second, int64_t count, char* to) {
    typedef int16_t I16 __attribute__((vector_size(64)));
    const I16 order = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                       8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const auto paired = [&](__m512i x) { return _mm512_maskz_permutexvar_epi16(0xffffffff, (__m512i)order, x); };
    const __m512 a = first_of(first, first ? count : 0), b = first_of(second, second ? count : 0);
    const __m512i both = rounded(a, b);
    _mm512_store_si512(to, paired(both));
    if constexpr (parts == 2) _mm512_store_si512(to + kTileBytes, paired(rounded_rest(a, b, both)));
  }
  TAPE_INLINE void transpose(const char* from, char* to) {
    Pairs x[kTile], y[kTile];
#pragma GCC unroll 16
    for (int r = 0; r < kTile; ++r) __builtin_memcpy(&x[r], from + r * kTileRowBytes, sizeof(Pairs));
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {  // transpose 4 x 4 pairs within each of the four 16-byte columns
      const Pairs a = low_ones(x[4 * q], x[4 * q + 1]), b = high_ones(x[4 * q], x[4 * q + 1]),
                  c = low_ones(x[4 * q + 2], x[4 * q + 3]), d = high_ones(x[4 * q + 2], x[4 * q + 3]);
      y[4 * q] = low_twos(a, c);
      y[4 * q + 1] = high_twos(a, c);
      y[4 * q + 2] = low_twos(b, d);
      y[4 * q + 3] = high_twos(b, d);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {  // then the 4 x 4 grid of these
      const Pairs a = even_fours(y[r], y[r + 4]), b = odd_fours(y[r], y[r + 4]), c = even_fours(y[r + 8], y[r + 12]),
                  d = odd_fours(y[r + 8], y[r + 12]);
      const Pairs row[4] = {even_fours(a, c), even_fours(b, d), odd_fours(a, c), odd_fours(b, d)};
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) __builtin_memcpy(to + (4 * q + r) * kTileRowBytes, &row[q], sizeof(Pairs));
    }
  }
};

}  // namespace tape::kernels::TAPE_LEVEL
