#pragma once

#include <stdint.h>

namespace tape::kernels {

/// Sizes of a kernel of attention for bf16: the rows of scores that a warp has, and their columns at a time, both
/// multiples of 16.
struct Bf16Tile {
  int rows, columns;
};

/// Factors that kernels of attention for bf16 read as constants, which takes no registers.
struct Bf16Factors {
  float score;    // of products of queries and keys: the scale times log2(e), as exponentials are those of base 2
  float dropout;  // of kept probabilities

  Bf16Factors(double scale, double dropout_rate)
      : score(static_cast<float>(scale * 1.4426950408889634)),
        dropout(dropout_rate < 1 ? static_cast<float>(1 / (1 - dropout_rate)) : 0.0F) {}
};

/// Sizes of attention's kernels for bf16. They exist for a few widths of keys and values; others are padded with zeros.
/// A block has up to four warps, and fewer for short sequences. By count, not measured:
///
/// - Two blocks fit on a multiprocessor: a thread has up to 255 of 65,536 / 256 registers, and a block up to 79 KiB of
///   shared memory, where an A100 has 164 and an H100 228.
/// - Tensor cores of an A100 make a product of 16 x 8 x 16 in the time in which 256 bytes are read from shared memory.
///   With 32 rows per warp, a fragment of the other operand serves two of them: 64 columns wide, a product reads 160
///   bytes forward, 213 for dq and 192 for dk and dv, so that tensor cores are the limit. Where sums of 32 rows would
///   leave no registers or memory for a second block, a warp has 16 rows and a product reads up to 341 bytes.
struct AttentionBf16 {
  static constexpr int kMostWarps = 4;
  static constexpr int kMostWidth = 128;
  static constexpr int kPadding = 8;  // of a row in shared memory, so that ldmatrix reads 8 rows from different banks

  static constexpr int padded(int64_t width) {
    return width <= 32 ? 32 : width <= 64 ? 64 : width <= 96 ? 96 : kMostWidth;
  }
  /// Rows are queries, columns keys.
  static constexpr Bf16Tile forward(int width) { return {32, width <= 64 ? 64 : 32}; }
  /// Rows are queries, columns keys.
  static constexpr Bf16Tile query_gradient(int width) { return {width < kMostWidth ? 32 : 16, 32}; }
  /// Rows are keys, columns queries.
  static constexpr Bf16Tile key_gradients(int width) { return {width <= 64 ? 32 : 16, 32}; }
  /// Bytes of rows in shared memory.
  static constexpr int64_t bytes(int64_t rows, int width) { return rows * (width + kPadding) * 2; }
};

}  // namespace tape::kernels
