#include "autograd/kernels/product/bf16/bf16_product.h"

#include "autograd/kernels/product/blocked_tiles.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Two rounded values, adjacent along k, share the 32 bits of a packed value, with the first in the low half.
typedef int16_t I16 __attribute__((vector_size(64)));

TAPE_INLINE I16 rounded(F32 low, F32 high) { return (I16)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low); }

/// Packs rows of x, with k along each row. Strips of rows are rounded first, then transposed as pairs.
template <int64_t width>
TAPE_INLINE void pack_across(int64_t count, int64_t k, const float* x, int64_t stride, int64_t last, float* to) {
  constexpr int64_t kStrip = 32;  // values along k: one vector of bf16
  const int64_t depth = ceil_div(k, 2);
  alignas(64) float pairs[width * kStrip / 2];
  for (int64_t begin = 0; begin < count; begin += width) {
    const int64_t valid = smaller(width, count - begin), whole = begin + width <= count ? width : last;
    for (int64_t first = 0; first < k; first += kStrip) {
      const int64_t left = smaller(kStrip, k - first);
      for (int64_t r = 0; r < valid; ++r) {
        const float* from = x + (begin + r) * stride + first;
        const F32 low = load_first_or_all(from, left, 0.0F);
        const F32 high = left > 16 ? load_first_or_all(from + 16, left - 16, 0.0F) : F32{};
        const I16 both = rounded(low, high);
        __builtin_memcpy(pairs + r * kStrip / 2, &both, sizeof(both));
      }
      pack_panel(valid, whole, ceil_div(left, 2), pairs, kStrip / 2, to + begin * depth + first / 2 * whole);
    }
  }
}

/// Sixteen columns of two rows as pairs.
TAPE_INLINE F32 paired(F32 first, F32 second) {
  const I16 order = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                     8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return (F32)_mm512_maskz_permutexvar_epi16(0xffffffff, (__m512i)order, (__m512i)rounded(first, second));
}

/// Packs columns of x, with k along the columns.
template <int64_t width>
TAPE_INLINE void pack_along(int64_t count, int64_t k, const float* x, int64_t stride, int64_t last, float* to) {
  const int64_t depth = ceil_div(k, 2);
  for (int64_t i = 0; i < depth; ++i) {
    const float* const first = x + 2 * i * stride;
    const bool has_second = 2 * i + 1 < k;
    for (int64_t begin = 0; begin < count; begin += width) {
      const int64_t valid = smaller(width, count - begin), whole = begin + width <= count ? width : last;
      float* const row = to + begin * depth + i * whole;
      for (int64_t j = 0; j < whole; j += 16) {
        const int64_t left = valid - j;
        const F32 a = left > 0 ? load_first_or_all(first + begin + j, left, 0.0F) : F32{};
        const F32 b = left > 0 && has_second ? load_first_or_all(first + stride + begin + j, left, 0.0F) : F32{};
        store_first_or_all(row + j, paired(a, b), whole - j);
      }
    }
  }
}

struct Bf16 {
  using Value = float;
  static constexpr int kDepth = 2;
  static constexpr bool kReadsRows = false;
  TAPE_INLINE F32 multiply_add(F32 sum, F32 b, float a) {
    F32 all = fill(a);
#if defined(__clang__) && __clang_major__ < 18
    asm("" : "+v"(all));  // these crash if they fold the broadcast into the instruction
#endif
    return (F32)_mm512_dpbf16_ps((__m512)sum, (__m512bh)b, (__m512bh)all);
  }
  template <int64_t width>
  TAPE_INLINE void pack(bool across, int64_t count, int64_t k, const float* x, int64_t stride, int64_t last,
                        float* to) {
    if (across)
      pack_across<width>(count, k, x, stride, last, to);
    else
      pack_along<width>(count, k, x, stride, last, to);
  }
};
}  // namespace

void product(const Gemm& shape, const float* a, const float* b, const float* bias, float* c) {
  multiply_all<Bf16>(shape, a, b, bias, c);
}

int64_t packed_bytes(const Gemm& shape) { return packed_right_bytes<Bf16>(shape); }

void pack(const Gemm& shape, const float* b, int64_t begin, int64_t end, void* to) {
  pack_right_columns<Bf16>(shape, b, begin, end, to);
}

}  // namespace tape::kernels::TAPE_LEVEL
