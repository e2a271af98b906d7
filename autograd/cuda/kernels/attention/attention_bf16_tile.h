#pragma once

// Tiles of bf16 rows in shared memory and their products on tensor cores, as attention for bf16 needs them. With
// g = lane / 4 and t = lane % 4, a lane has elements (16 m + 8 h + g, 8 n + 2 t + e) of a warp's tile of scores or sums
// in [m][n][2 h + e]: those of multiply_bf16().

#include "../../../../base/half.h"
#include "../async_copy.h"
#include "../bf16.h"
#include "../matrix.h"
#include "attention_bf16_shape.h"

using tape::BFloat16;
using tape::kernels::AttentionBf16;
using tape::kernels::Bf16Factors;
using tape::kernels::Bf16Tile;

/// Values from one row to the next in shared memory.
template <int kWidth>
constexpr int kPitch = kWidth + AttentionBf16::kPadding;
/// Number of values that are copied at once, 16 bytes.
constexpr int kChunk = 8;

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int warp() { return static_cast<int>(threadIdx.x) / 32; }
__device__ inline int warps() { return static_cast<int>(blockDim.x) / 32; }
/// Row of a lane in each 8 x 8 matrix, and the first of its two columns.
__device__ inline int lane_row() { return lane() / 4; }
__device__ inline int lane_column() { return lane() % 4 * 2; }

/// Rows of one head in device memory, aligned to 16 bytes; the width is a multiple of kChunk.
struct HeadRows {
  const BFloat16* first;
  int pitch, rows, width;
};

/// Starts the copies of `count` rows from `row` on to shared memory, with zeros for what does not exist. A thread
/// copies one chunk of every few rows, so that the addresses of the next row are a sum.
template <int kWidth>
__device__ TAPE_INLINE void copy_rows(const HeadRows& from, int row, int count, BFloat16* to) {
  constexpr unsigned kChunks = kWidth / kChunk, kThreads = kChunks <= 4 ? 4 : kChunks <= 8 ? 8 : 16;  // of a row
  const int first = static_cast<int>(threadIdx.x / kThreads), step = static_cast<int>(blockDim.x / kThreads);
  const int column = static_cast<int>(threadIdx.x % kThreads) * kChunk;
  if (kChunks < kThreads && column >= kWidth) return;
  const int existing = column < from.width ? from.rows - row : 0;
  const BFloat16* source = from.first + static_cast<int64_t>(row + first) * from.pitch + column;
  const int64_t apart = static_cast<int64_t>(step) * from.pitch;
  BFloat16* place = to + first * kPitch<kWidth> + column;
  TAPE_UNROLL_BY(2) for (int r = first; r < count; r += step) {
    copy_async<16>(place, source, r < existing ? 16 : 0);
    source += apart;
    place += step * kPitch<kWidth>;
  }
}

/// Two tiles of rows in shared memory, twice: one pair is read while the next one is copied.
template <int kWidth, int kRows>
struct TilePairs {
  BFloat16* memory;

  __device__ BFloat16* first(int stage) const { return memory + stage * 2 * kRows * kPitch<kWidth>; }
  __device__ BFloat16* second(int stage) const { return first(stage) + kRows * kPitch<kWidth>; }
  __device__ BFloat16* end() const { return first(2); }
  __device__ void copy(int stage, const HeadRows& a, const HeadRows& b, int row) const {
    copy_rows<kWidth>(a, row, kRows, first(stage));
    copy_rows<kWidth>(b, row, kRows, second(stage));
  }
};

/// Calls body(stage, i) for each i < count after copy(stage, i) has finished; the next copy runs meanwhile. Copies
/// that were started before have finished too. All threads of the block call this, with the same count.
template <class Copy, class Body>
__device__ TAPE_INLINE void for_stages(int count, const Copy& copy, const Body& body) {
  if (count > 0) copy(0, 0);
  commit_copies();
  for (int i = 0; i < count; ++i) {
    wait_for_copies();
    __syncthreads();  // all threads have copied this stage, and have read the other one
    if (i + 1 < count) copy((i + 1) % 2, i + 1);
    commit_copies();
    body(i % 2, i);
  }
  wait_for_copies();
  __syncthreads();
}

/// sums += a b^T for rows of a and kColumns rows of b, kSteps products along the width at a time.
template <int kWidth, int M, int kColumns, int kSteps = kWidth / 16>
__device__ TAPE_INLINE void add_row_products(const BFloat16* a, const BFloat16* b, float (&sums)[M][kColumns / 8][4]) {
  constexpr int kStep = kPitch<kWidth>;
  // Matrices of a: rows 0, rows 8, then the same rows with columns 8; of b: columns 0, 8, then those of rows 8.
  const BFloat16* const from_a = a + lane() % 16 * kStep + lane() / 16 * 8;
  const BFloat16* const from_b = b + (lane() / 16 * 8 + lane() % 8) * kStep + lane() / 8 % 2 * 8;
  TAPE_UNROLL_BY(kSteps) for (int d = 0; d < kWidth; d += 16) {
    uint32_t left[M][4];
    TAPE_UNROLL for (int m = 0; m < M; ++m) load_matrices(left[m], from_a + 16 * m * kStep + d);
    TAPE_UNROLL for (int n = 0; n < kColumns / 16; ++n) {
      uint32_t right[4];
      load_matrices(right, from_b + 16 * n * kStep + d);
      const uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
      TAPE_UNROLL for (int m = 0; m < M; ++m) {
        multiply_bf16(sums[m][2 * n], left[m], low);
        multiply_bf16(sums[m][2 * n + 1], left[m], high);
      }
    }
  }
}

/// sums += p b, where `p` has kColumns columns, in pairs of bf16 in [m][n][h], and b as many rows.
template <int kWidth, int M, int kColumns>
__device__ TAPE_INLINE void add_product(const uint32_t (&p)[M][kColumns / 8][2], const BFloat16* b,
                                        float (&sums)[M][kWidth / 8][4]) {
  constexpr int kStep = kPitch<kWidth>;
  // Matrices: rows 0, rows 8, then the same rows with columns 8.
  const BFloat16* const from = b + lane() % 16 * kStep + lane() / 16 * 8;
  TAPE_UNROLL for (int k = 0; k < kColumns / 16; ++k) {
    TAPE_UNROLL for (int c = 0; c < kWidth / 16; ++c) {
      uint32_t right[4];
      load_transposed_matrices(right, from + 16 * k * kStep + 16 * c);
      const uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
      TAPE_UNROLL for (int m = 0; m < M; ++m) {
        // Scores in the layout of sums are in the layout of a left operand once they are packed.
        const uint32_t left[4] = {p[m][2 * k][0], p[m][2 * k][1], p[m][2 * k + 1][0], p[m][2 * k + 1][1]};
        multiply_bf16(sums[m][2 * c], left, low);
        multiply_bf16(sums[m][2 * c + 1], left, high);
      }
    }
  }
}

/// Rounds a tile to bf16.
template <int M, int N>
__device__ TAPE_INLINE void pack_tile(const float (&values)[M][N][4], uint32_t (&packed)[M][N][2]) {
  TAPE_UNROLL for (int m = 0; m < M; ++m) {
    TAPE_UNROLL for (int n = 0; n < N; ++n) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) packed[m][n][h] = pack(values[m][n][2 * h], values[m][n][2 * h + 1]);
    }
  }
}

/// Stores a warp's sums, each row times its factor, as rows of bf16 from `row` on; nothing if to.first is null. `part`
/// is shared memory of the warp for as many rows: it makes whole rows of what lanes have in pairs.
template <int kWidth, int M>
__device__ inline void store_rows(const float (&sums)[M][kWidth / 8][4], const float (&factor)[M][2], BFloat16* part,
                                  const HeadRows& to, int row) {
  constexpr int kChunks = kWidth / kChunk;
  if (!to.first) return;
  auto* const first = const_cast<BFloat16*>(to.first);
  TAPE_UNROLL for (int m = 0; m < M; ++m) {
    TAPE_UNROLL for (int c = 0; c < kWidth / 8; ++c) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        const uint32_t pair = pack(sums[m][c][2 * h] * factor[m][h], sums[m][c][2 * h + 1] * factor[m][h]);
        BFloat16* const place = part + (16 * m + 8 * h + lane_row()) * kPitch<kWidth> + 8 * c + lane_column();
        *reinterpret_cast<uint32_t*>(place) = pair;
      }
    }
  }
  __syncwarp();
  for (int e = lane(); e < 16 * M * kChunks; e += 32) {
    const int r = e / kChunks, column = e % kChunks * kChunk;
    if (row + r >= to.rows || column >= to.width) continue;
    BFloat16* const place = first + static_cast<int64_t>(row + r) * to.pitch + column;
    *reinterpret_cast<uint4*>(place) = *reinterpret_cast<const uint4*>(part + r * kPitch<kWidth> + column);
  }
}
