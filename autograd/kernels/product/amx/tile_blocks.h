#pragma once

// Blocked bf16 products on matrix tiles: operands are rounded and packed into tiles, and 2 x 2 tiles of C are
// accumulated at a time. The tile implementation is a template parameter: AMX, or plain C++ with the same bits.
//
// `parts` is the number of bf16 that represent a value. 1: the nearest bf16, x ~ h, |x - h| <= 2^-8 |x|. 2: a sum, x ~
// h + l with l nearest to x - h, which leaves at most 2^-17 |x|; then a b ~ ah bh + ah bl + al bh, three products. The
// omitted al bl is at most 2^-16 |a b|; with the remainders, the total error is within 2^-15 |a b| in the worst case of
// every rounding.

#include "../common/gemm.h"
#include "../row_sums_a.h"

namespace tape::kernels::TAPE_LEVEL {

// A tile has 16 rows of 64 bytes. A tile of A: 16 rows of 32 values along k. Of B: 16 pairs along k, for 16 columns
// each. Of C: 16 rows of 16 floats.
inline constexpr int64_t kTile = 16, kTileDepth = 32;
inline constexpr int64_t kTileBytes = 1024, kTileRowBytes = 64;
inline constexpr int64_t kPair = 2 * kTile;  // rows and columns of C that are accumulated at a time

// Block sizes: along k, and of B as many values as fill half of a 2 MB L2 cache.
inline constexpr int64_t kTileInner = 1024, kTileValues = 1 << 19;
/// Columns of A packed at a time: reading single cache lines from each of k rows would be slow.
inline constexpr int64_t kTileRows = 256;

// Members of `Tiles`:
//   configure(), release(): called before and after a thread uses its tiles
//   zero<t>(), load<t>(from, stride), store<t>(to, stride): tile t of eight, with rows `stride` bytes apart
//   multiply_add<c, a, b>(): C += A B
//   round_row<parts>(from, count, to): rounds 32 values of a row to bf16, with zeros from `count` on; the second part
//     is stored one tile further
//   round_columns<parts>(first, second, count, to): rounds 16 columns of two rows as pairs, with zeros from `count` on
//     and for a null row; the second part is stored one tile further
//   transpose(from, to): 16 x 16 pairs

/// One operand in memory, with an axis of C and an axis k. `across`: k runs along its rows.
struct TileOperand {
  const float* values;
  int64_t stride;
  bool across;

  const float* at(int64_t i, int64_t k) const { return values + (across ? i * stride + k : k * stride + i); }
};

/// Layout of a packed operand: [pair][k / 32][2][part], where a pair is two adjacent tiles of the axis; the last pair
/// may have only one.
template <int parts>
struct TileLayout {
  char* tiles;
  int64_t count, steps;  // size of the axis, and of k in tiles

  char* at(int64_t i, int64_t step) const {
    const int64_t pair = i / kPair, together = count - pair * kPair > kTile ? 2 : 1;
    return tiles + (pair * 2 * steps + step * together + i % kPair / kTile) * parts * kTileBytes;
  }
};

template <class Tiles, int parts>
TAPE_INLINE void transpose_parts(const char* from, char* to) {
  for (int part = 0; part < parts; ++part) Tiles::transpose(from + part * kTileBytes, to + part * kTileBytes);
}

// Packs a block of an operand: `to.count` elements of its axis from `first` on, and `depth` of k from `k` on. With
// `rows`, a tile row is one element of the axis, else one pair along k. Memory is read in the longest possible runs.

template <class Tiles, int parts>
static void pack_across(const TileOperand& x, bool rows, int64_t first, int64_t k, int64_t depth,
                        const TileLayout<parts>& to) {
  constexpr int64_t kStrip = 4;  // tiles along a row
  alignas(64) char other[kStrip * parts * kTileBytes];
  for (int64_t i = 0; i < to.count; i += kTile)
    for (int64_t begin = 0; begin < to.steps; begin += kStrip) {
      const int64_t tiles = smaller(kStrip, to.steps - begin);
      char* tile[kStrip];
      for (int64_t t = 0; t < tiles; ++t) tile[t] = rows ? to.at(i, begin + t) : other + t * parts * kTileBytes;
      for (int64_t r = 0; r < kTile; ++r)
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t at = (begin + t) * kTileDepth;
          char* const row = tile[t] + r * kTileRowBytes;
          if (i + r < to.count)
            Tiles::template round_row<parts>(x.at(first + i + r, k + at), smaller(kTileDepth, depth - at), row);
          else
            Tiles::template round_row<parts>(nullptr, 0, row);
        }
      if (!rows)
        for (int64_t t = 0; t < tiles; ++t) transpose_parts<Tiles, parts>(tile[t], to.at(i, begin + t));
    }
}

template <class Tiles, int parts>
static void pack_along(const TileOperand& x, bool rows, int64_t first, int64_t k, int64_t depth,
                       const TileLayout<parts>& to) {
  alignas(64) char other[parts * kTileBytes];
  for (int64_t step = 0; step < to.steps; ++step)
    for (int64_t i = 0; i < to.count; i += kTile) {
      char* const tile = rows ? other : to.at(i, step);
      for (int64_t p = 0; p < kTile; ++p) {
        const int64_t at = step * kTileDepth + 2 * p;
        Tiles::template round_columns<parts>(at < depth ? x.at(first + i, k + at) : nullptr,
                                             at + 1 < depth ? x.at(first + i, k + at + 1) : nullptr,
                                             smaller(kTile, to.count - i), tile + p * kTileRowBytes);
      }
      if (rows) transpose_parts<Tiles, parts>(tile, to.at(i, step));
    }
}

template <class Tiles, int parts>
static void pack_tiles(const TileOperand& x, bool rows, int64_t first, int64_t k, int64_t depth,
                       const TileLayout<parts>& to) {
  if (x.across)
    pack_across<Tiles>(x, rows, first, k, depth, to);
  else
    pack_along<Tiles>(x, rows, first, k, depth, to);
}

/// Destination of 2 x 2 tiles of C. A tile that extends beyond C goes through a temporary buffer.
struct TileOutput {
  float* c;
  int64_t row;  // row stride in elements
  int64_t rows, columns;
  bool accumulate;
  const float* bias;  // may be null
};

/// Copies the part of the tile at (row, column) that lies in C from or to `whole` [16, 16].
TAPE_INLINE void copy_part(const TileOutput& out, int64_t row, int64_t column, float* whole, bool to_c) {
  const int64_t rows = smaller(kTile, out.rows - row), columns = smaller(kTile, out.columns - column);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) {
      float& of_c = out.c[(row + r) * out.row + column + j];
      float& of_whole = whole[r * kTile + j];
      (to_c ? of_c : of_whole) = to_c ? of_whole : of_c;
    }
}

TAPE_INLINE bool is_whole(const TileOutput& out, int64_t row, int64_t column) {
  return row + kTile <= out.rows && column + kTile <= out.columns;
}

template <class Tiles, int t>
TAPE_INLINE void begin_sums(const TileOutput& out, int64_t row, int64_t column) {
  const auto stride = static_cast<int64_t>(sizeof(float));
  if (!out.accumulate && !out.bias) return Tiles::template zero<t>();
  if (!out.accumulate && column + kTile <= out.columns) return Tiles::template load<t>(out.bias + column, 0);
  if (!out.bias && is_whole(out, row, column))
    return Tiles::template load<t>(out.c + row * out.row + column, out.row * stride);
  alignas(64) float whole[kTile * kTile] = {};
  if (out.accumulate) copy_part(out, row, column, whole, false);
  if (out.bias)
    for (int64_t r = 0; r < kTile; ++r)
      for (int64_t j = 0; j < smaller(kTile, out.columns - column); ++j) whole[r * kTile + j] += out.bias[column + j];
  Tiles::template load<t>(whole, kTileRowBytes);
}

template <class Tiles, int t>
TAPE_INLINE void end_sums(const TileOutput& out, int64_t row, int64_t column) {
  const auto stride = static_cast<int64_t>(sizeof(float));
  if (is_whole(out, row, column)) return Tiles::template store<t>(out.c + row * out.row + column, out.row * stride);
  alignas(64) float whole[kTile * kTile];
  Tiles::template store<t>(whole, kTileRowBytes);
  copy_part(out, row, column, whole, true);
}

/// rows x columns tiles of C += A B for one part each, at `a` and `b`; the next row and column are `step` bytes
/// further.
template <class Tiles, int rows, int columns>
TAPE_INLINE void multiply_step(const char* a, const char* b, int64_t step) {
  Tiles::template load<4>(a, kTileRowBytes);
  Tiles::template load<6>(b, kTileRowBytes);
  Tiles::template multiply_add<0, 4, 6>();
  if constexpr (columns == 2) {
    Tiles::template load<7>(b + step, kTileRowBytes);
    Tiles::template multiply_add<1, 4, 7>();
  }
  if constexpr (rows == 2) {
    Tiles::template load<5>(a + step, kTileRowBytes);
    Tiles::template multiply_add<2, 5, 6>();
    if constexpr (columns == 2) Tiles::template multiply_add<3, 5, 7>();
  }
}

/// rows x columns tiles of C from packed tiles, `steps` times 32 along k.
template <class Tiles, int parts, int rows, int columns>
static void sum_tiles(int64_t steps, const char* a, const char* b, const TileOutput& out) {
  constexpr int64_t kStep = parts * kTileBytes;
  begin_sums<Tiles, 0>(out, 0, 0);
  if constexpr (columns == 2) begin_sums<Tiles, 1>(out, 0, kTile);
  if constexpr (rows == 2) begin_sums<Tiles, 2>(out, kTile, 0);
  if constexpr (rows == 2 && columns == 2) begin_sums<Tiles, 3>(out, kTile, kTile);
  int64_t near = 0;  // rows of C prefetched so far
  for (int64_t i = 0; i < steps; ++i, a += rows * kStep, b += columns * kStep) {
    const char* const next = b + columns * kStep;
    // Prefetch two rows of C per step: all at once would stall the tiles.
    for (const int64_t end = smaller(out.rows, near + 2); near < end; ++near)
      for (int j = 0; j < columns; ++j) __builtin_prefetch(out.c + near * out.row + j * kTile, 1);
#pragma GCC unroll 64
    for (int64_t r = 0; r < columns * parts * kTile; ++r)
      __builtin_prefetch(next + r * kTileRowBytes);  // from the L2 cache
    multiply_step<Tiles, rows, columns>(a, b, kStep);
    if constexpr (parts == 2) {
      multiply_step<Tiles, rows, columns>(a, b + kTileBytes, kStep);
      multiply_step<Tiles, rows, columns>(a + kTileBytes, b, kStep);
    }
  }
  end_sums<Tiles, 0>(out, 0, 0);
  if constexpr (columns == 2) end_sums<Tiles, 1>(out, 0, kTile);
  if constexpr (rows == 2) end_sums<Tiles, 2>(out, kTile, 0);
  if constexpr (rows == 2 && columns == 2) end_sums<Tiles, 3>(out, kTile, kTile);
}

/// All pairs of tiles of a block of C; uses the first steps of B, which has `b_steps`.
template <class Tiles, int parts>
TAPE_INLINE void multiply_blocks(int64_t steps, const char* a, const char* b, int64_t b_steps, const TileOutput& all) {
  for (int64_t row = 0; row < all.rows; row += kPair)
    for (int64_t column = 0; column < all.columns; column += kPair) {
      const TileOutput out{
          all.c + row * all.row + column,       all.row,        smaller(kPair, all.rows - row),
          smaller(kPair, all.columns - column), all.accumulate, all.bias ? all.bias + column : nullptr};
      constexpr int64_t kStep = parts * kTileBytes;
      const char* const of_a = a + row / kTile * steps * kStep;
      const char* const of_b = b + column / kTile * b_steps * kStep;
      const bool two_rows = out.rows > kTile, two_columns = out.columns > kTile;
      if (two_rows && two_columns)
        sum_tiles<Tiles, parts, 2, 2>(steps, of_a, of_b, out);
      else if (two_rows)
        sum_tiles<Tiles, parts, 2, 1>(steps, of_a, of_b, out);
      else if (two_columns)
        sum_tiles<Tiles, parts, 1, 2>(steps, of_a, of_b, out);
      else
        sum_tiles<Tiles, parts, 1, 1>(steps, of_a, of_b, out);
    }
}

TAPE_INLINE int64_t whole_tiles(int64_t length, int64_t of) { return ceil_div(length, of) * of; }

/// Length of the block of k that is packed and multiplied at a time.
TAPE_INLINE int64_t tile_inner(int64_t k) { return whole_tiles(ceil_div(k, ceil_div(k, kTileInner)), kTileDepth); }

// Layout of a fully packed B with `all` columns: consecutive blocks of k, each with all its tiles.

/// Offset of column `column` in the block of `steps` tiles that begins at `first` along k.
template <int parts>
TAPE_INLINE int64_t packed_tiles_offset(int64_t all, int64_t first, int64_t steps, int64_t column) {
  return whole_tiles(all, kTile) * first * 2 * parts + column / kTile * steps * parts * kTileBytes;
}

TAPE_INLINE int64_t packed_tiles_bytes(const Gemm& s, int parts) {
  return whole_tiles(s.n, kTile) * whole_tiles(s.k, kTileDepth) * 2 * parts;
}

/// Packs columns [begin, end) of B into their position in a fully packed B; `begin` must start a pair of tiles.
template <class Tiles, int parts>
static void pack_right_tiles(const Gemm& s, const float* b, int64_t begin, int64_t end, void* to) {
  const TileOperand right{b, s.ldb, s.transpose_b};
  const int64_t inner = tile_inner(s.k);
  for (int64_t first = 0; first < s.k; first += inner) {
    const int64_t k = smaller(inner, s.k - first), steps = ceil_div(k, kTileDepth);
    char* const place = static_cast<char*>(to) + packed_tiles_offset<parts>(s.n, first, steps, begin);
    pack_tiles<Tiles>(right, false, begin, first, k, TileLayout<parts>{place, end - begin, steps});
  }
}

/// The product of gemm() on one thread.
template <class Tiles, int parts>
static void multiply_tiles(const Gemm& s, const float* a, const float* b, const float* bias, float* c) {
  const TileOperand left{a, s.lda, !s.transpose_a}, right{b, s.ldb, s.transpose_b};
  const int64_t inner = tile_inner(s.k);
  const int64_t row_block = left.across ? kPair : kTileRows;
  const int64_t column_block = kTileValues / parts / inner / kPair * kPair;
  constexpr int64_t kBytes = 2 * parts;  // size of a packed value
  Scratch<char> packed_a(whole_tiles(smaller(s.m, row_block), kTile) * inner * kBytes);
  Scratch<char> packed_b(s.packed.values ? 0 : whole_tiles(smaller(s.n, column_block), kTile) * inner * kBytes);
  Tiles::configure();
  for (int64_t column = 0; column < s.n; column += column_block) {
    const int64_t columns = smaller(column_block, s.n - column);
    for (int64_t first = 0; first < s.k; first += inner) {
      const int64_t k = smaller(inner, s.k - first), steps = ceil_div(k, kTileDepth);
      const char* tiles = packed_b.data();
      if (s.packed.values)
        tiles = static_cast<const char*>(s.packed.values) +
                packed_tiles_offset<parts>(s.packed.columns, first, steps, s.packed.column + column);
      else
        pack_tiles<Tiles>(right, false, column, first, k, TileLayout<parts>{packed_b.data(), columns, steps});
      for (int64_t row = 0; row < s.m; row += row_block) {
        const int64_t rows = smaller(row_block, s.m - row);
        if (s.row_sums_a && column == 0)
          add_left_sums(rows, k, left.at(row, first), s.lda, first == 0, static_cast<float*>(s.row_sums_a) + row);
        pack_tiles<Tiles>(left, true, row, first, k, TileLayout<parts>{packed_a.data(), rows, steps});
        multiply_blocks<Tiles, parts>(
            steps, packed_a.data(), tiles, steps,
            TileOutput{c + row * s.ldc + column, s.ldc, rows, columns, s.accumulate || first > 0,
                       bias && first == 0 ? bias + column : nullptr});
      }
    }
  }
  Tiles::release();
}

}  // namespace tape::kernels::TAPE_LEVEL
