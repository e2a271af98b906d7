#include "tests/support/emulated_tiles.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/kernels/attention/amx/tile_attention_products.h"
#include "autograd/kernels/attention/attention_blocks.h"
#include "autograd/kernels/product/amx/tile_blocks.h"
#include "base/bfloat16.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Flushes subnormal numbers to zero.
float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x; }

/// The eight tiles of a thread.
thread_local char tiles[8][kTileBytes];

/// Returns one value of a tile of A or B.
float tile_value(int t, int64_t row, int64_t column) {
  uint16_t bits;
  std::memcpy(&bits, tiles[t] + row * kTileRowBytes + 2 * column, sizeof(bits));
  return flushed(bfloat16_value(bits));
}

/// Tiles in plain C++, bitwise identical to the CPU's.
struct Emulated {
  static void configure() {}
  static void release() {}
  template <int t>
  static void zero() {
    std::memset(tiles[t], 0, kTileBytes);
  }
  template <int t>
  static void load(const void* from, int64_t stride) {
    for (int64_t r = 0; r < kTile; ++r)
      std::memcpy(tiles[t] + r * kTileRowBytes, static_cast<const char*>(from) + r * stride, kTileRowBytes);
  }
  template <int t>
  static void store(void* to, int64_t stride) {
    for (int64_t r = 0; r < kTile; ++r)
      std::memcpy(static_cast<char*>(to) + r * stride, tiles[t] + r * kTileRowBytes, kTileRowBytes);
  }
  /// Sums in the order of TDPBF16PS (Intel's manual, volume 2): the first and second values of all pairs are summed
  /// separately, each step a fused multiply-add.
  template <int c, int a, int b>
  static void multiply_add() {
    for (int64_t i = 0; i < kTile; ++i)
      for (int64_t j = 0; j < kTile; ++j) {
        float first = 0, second = 0;
        for (int64_t p = 0; p < kTile; ++p) {
          first = flushed(std::fma(tile_value(a, i, 2 * p), tile_value(b, p, 2 * j), first));
          second = flushed(std::fma(tile_value(a, i, 2 * p + 1), tile_value(b, p, 2 * j + 1), second));
        }
        char* const at = tiles[c] + i * kTileRowBytes + j * static_cast<int64_t>(sizeof(float));
        float sum;
        std::memcpy(&sum, at, sizeof(sum));
        sum = flushed(flushed(sum) + flushed(first + second));
        std::memcpy(at, &sum, sizeof(sum));
      }
  }
  template <int parts>
  static void round_row(const float* from, int64_t count, char* to) {
    float row[kTileDepth] = {};
    for (int64_t i = 0; i < count; ++i) row[i] = from[i];
    round_all<parts>(row, to);
  }
  template <int parts>
  static void round_columns(const float* first, const float* second, int64_t count, char* to) {
    float row[kTileDepth] = {};
    for (int64_t j = 0; j < count; ++j) {
      if (first) row[2 * j] = first[j];
      if (second) row[2 * j + 1] = second[j];
    }
    round_all<parts>(row, to);
  }
  template <int parts>
  static void round_all(float* row, char* to) {
    for (int part = 0; part < parts; ++part, to += kTileBytes) {
      uint16_t nearest[kTileDepth];
      for (int64_t i = 0; i < kTileDepth; ++i) {
        nearest[i] = bfloat16_bits(flushed(row[i]));
        row[i] -= bfloat16_value(nearest[i]);
      }
      std::memcpy(to, nearest, sizeof(nearest));
    }
  }
  static void transpose(const char* from, char* to) {
    for (int64_t i = 0; i < kTile; ++i)
      for (int64_t j = 0; j < kTile; ++j)
        std::memcpy(to + i * kTileRowBytes + 4 * j, from + j * kTileRowBytes + 4 * i, 4);
  }
};

void product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c) {
  if (parts == 1) return multiply_tiles<Emulated, 1>(shape, a, b, bias, c);
  multiply_tiles<Emulated, 2>(shape, a, b, bias, c);
}

void pack(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to) {
  if (parts == 1) return pack_right_tiles<Emulated, 1>(shape, b, begin, end, to);
  pack_right_tiles<Emulated, 2>(shape, b, begin, end, to);
}

template <int parts>
constexpr AttentionKernels<float> kEmulatedAttention = {.forward = forward<TileProducts<Emulated, parts>, float>,
                                                        .backward = backward<TileProducts<Emulated, parts>, float>};

const AttentionKernels<float>& attention(int parts) {
  return parts == 1 ? kEmulatedAttention<1> : kEmulatedAttention<2>;
}

}  // namespace
}  // namespace tape::kernels::TAPE_LEVEL

namespace tape::kernels::testing {

const TileKernels& emulated_tiles() {
  namespace level = TAPE_LEVEL;
  static constexpr TileKernels kernels{level::product, level::packed_tiles_bytes, level::pack, level::attention};
  return kernels;
}

}  // namespace tape::kernels::testing
