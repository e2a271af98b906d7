#pragma once

// Products of tiles in shared memory, as attention needs them. A tile is a square of kEdge queries by kEdge keys;
// thread (x, y) of a block of 16 x 16 has its elements (y + 16 i, x + 16 j) in registers.

#include "../lines.h"
#include "attention_shape.h"

using tape::kernels::AttentionBlock;

constexpr int kSide = AttentionBlock::kSide;        // threads along each side of a tile
constexpr int kColumns = AttentionBlock::kColumns;  // of an output, that a block computes
constexpr int kOutputs = kColumns / kSide;          // columns per thread
constexpr int kDepth = 32;                          // columns of the operands of a score that are staged at a time

__device__ inline int tile_x() { return static_cast<int>(threadIdx.x) % kSide; }
__device__ inline int tile_y() { return static_cast<int>(threadIdx.x) / kSide; }

/// Shared memory of a block; R is the number of rows, and of columns, of a tile per thread.
template <class T, int R>
struct TileMemory {
  static constexpr int kEdge = kSide * R, kPitch = kDepth + 1;  // one more, so that columns lie in different banks
  static constexpr int kRows = 2 * kEdge * kPitch, kSlice = kSide * kColumns;
  T scores[kEdge][kEdge + 1];
  T staged[kRows > kSlice ? kRows : kSlice];
};

/// The rows of a head that a block computes, and its columns: blocks of rows vary first, then heads, then columns.
struct BlockPlace {
  int64_t head, block, blocks, column;

  __device__ BlockPlace(int64_t index, int64_t heads, int64_t rows, int64_t edge) : blocks((rows + edge - 1) / edge) {
    block = index % blocks;
    head = index / blocks % heads;
    column = index / blocks / heads * kColumns;
  }
  /// Number of columns of the block, of `width`.
  __device__ int columns_of(int64_t width) const {
    const int64_t rest = width - column;
    return static_cast<int>(rest < 0 ? 0 : rest < kColumns ? rest : kColumns);
  }
};

/// Copies columns [d, d + count) of kEdge rows, whose addresses row(r) returns; null for a row of zeros.
template <int kEdge, class T, class Row>
__device__ void stage_rows(int64_t d, int count, const Row& row, T* to) {
  const int column = static_cast<int>(threadIdx.x) % kDepth;
  for (int r = static_cast<int>(threadIdx.x) / kDepth; r < kEdge; r += kSide * kSide / kDepth) {
    const T* const from = row(r);
    to[r * (kDepth + 1) + column] = from && column < count ? from[d + column] : T(0);
  }
}

/// sums[i][j] += the product of rows a(y + 16 i) and b(x + 16 j), of `depth` values.
template <class T, int R, class A, class B>
__device__ void add_row_products(TileMemory<T, R>& memory, int64_t depth, const A& a, const B& b, T (&sums)[R][R]) {
  constexpr int kEdge = TileMemory<T, R>::kEdge, kPitch = TileMemory<T, R>::kPitch;
  T* const left = memory.staged;
  T* const right = memory.staged + kEdge * kPitch;
  for (int64_t d = 0; d < depth; d += kDepth) {
    const int count = static_cast<int>(min(static_cast<int64_t>(kDepth), depth - d));
    __syncthreads();  // what was staged before may still be read
    stage_rows<kEdge>(d, count, a, left);
    stage_rows<kEdge>(d, count, b, right);
    __syncthreads();
    for (int e = 0; e < count; ++e) {
      T x[R], y[R];
      for (int i = 0; i < R; ++i) {
        x[i] = left[(tile_y() + kSide * i) * kPitch + e];
        y[i] = right[(tile_x() + kSide * i) * kPitch + e];
      }
      for (int i = 0; i < R; ++i)
        for (int j = 0; j < R; ++j) sums[i][j] += x[i] * y[j];
    }
  }
}

/// Whether the rows of the sums are the rows of the tile in shared memory, or its columns.
enum class TileRows { rows, columns };

/// sums[i][c] += sum over t < count of tile(y + 16 i, t) row(t)[x + 16 c], for `width` columns.
template <TileRows of, class T, int R, class Row>
__device__ void add_tile_product(TileMemory<T, R>& memory, int count, int width, const Row& row,
                                 T (&sums)[R][kOutputs]) {
  const int padded = (width + kSide - 1) / kSide * kSide;
  for (int first = 0; first < count; first += kSide) {
    __syncthreads();  // the tile is written, what was staged before may still be read
    for (int e = static_cast<int>(threadIdx.x); e < kSide * kColumns; e += kSide * kSide) {
      const int column = e % kColumns, t = first + e / kColumns;
      if (column >= padded) continue;
      memory.staged[e] = t < count && column < width ? row(t)[column] : T(0);
    }
    __syncthreads();
    const int rows = min(kSide, count - first);
    for (int t = 0; t < rows; ++t) {
      T factor[R];
      for (int i = 0; i < R; ++i) {
        const int at = tile_y() + kSide * i;
        factor[i] = of == TileRows::rows ? memory.scores[at][first + t] : memory.scores[first + t][at];
      }
      for (int c = 0; c < kOutputs; ++c) {
        if (kSide * c >= width) continue;
        const T value = memory.staged[t * kColumns + tile_x() + kSide * c];
        for (int i = 0; i < R; ++i) sums[i][c] += factor[i] * value;
      }
    }
  }
}

/// Combines the values of the 16 threads that share rows of a tile, in a fixed order; each of them gets the result.
template <class T, class Combine>
__device__ T over_tile_row(T value, const Combine& combine) {
  for (int bits = kSide / 2; bits > 0; bits /= 2) value = combine(value, value_of_lane(value, bits));
  return value;
}

/// Defines the kernels name_f32, name_f64, and name_small_f32, name_small_f64 with small tiles, of a function template
/// with parameters T and R.
#define TAPE_EXPORT_TILES(name, parameters, arguments)                                                    \
  TAPE_EXPORT_TILE(name##_f32, name, float, AttentionBlock::edge(sizeof(float)), parameters, arguments)   \
  TAPE_EXPORT_TILE(name##_f64, name, double, AttentionBlock::edge(sizeof(double)), parameters, arguments) \
  TAPE_EXPORT_TILE(name##_small_f32, name, float, AttentionBlock::kSmallEdge, parameters, arguments)      \
  TAPE_EXPORT_TILE(name##_small_f64, name, double, AttentionBlock::kSmallEdge, parameters, arguments)
#define TAPE_EXPORT_TILE(name, function, type, edge, parameters, arguments)    \
  namespace types_of_##name {                                                  \
    using T = type;                                                            \
    TAPE_EXPORT_AS(name, (function<T, (edge) / kSide>), parameters, arguments) \
  }
