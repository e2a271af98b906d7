#pragma once

// Masks and dropout of attention's tiles for bf16. A tile's rows are queries and its columns keys, or the other way
// around in kernels for the gradients of keys. Bit 16 h + 2 n + e of set[m] is the element of a lane in row
// 16 m + 8 h + g and column 8 n + 2 t + e (attention_bf16_tile.h).

#include "attention_bf16_tile.h"
#include "attention_scores.h"

constexpr float kLog2E = 1.4426950408889634F, kLn2 = 0.6931471805599453F;

/// 2^x by one instruction. Subnormal results become 0; exp2f() has more instructions for them.
__device__ TAPE_INLINE float power_of_two(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/// The rows of a head's queries, or of what has their layout.
__device__ inline HeadRows rows_of_queries(const AttentionShape& s, const Head& head, const BFloat16* x,
                                           const HeadLayout& layout, int64_t width) {
  return {x ? x + head.at(layout) : nullptr, static_cast<int>(layout.row), static_cast<int>(s.Tq),
          static_cast<int>(width)};
}
/// The rows of the keys or values of a head's group.
__device__ inline HeadRows rows_of_keys(const AttentionShape& s, const Head& head, const BFloat16* x,
                                        const HeadLayout& layout, int64_t width) {
  return {x ? x + head.at_shared(layout, s.group) : nullptr, static_cast<int>(layout.row), static_cast<int>(s.Tk),
          static_cast<int>(width)};
}

/// Which columns of one head's scores each row sees: row r those from r + low to r + high that the keep mask shows.
struct TileMasks {
  int rows, columns, low, high;
  const bool* keep;  // or null
  int64_t row_stride, column_stride;

  /// Whether `row_count` rows see all of `column_count` columns: most tiles need no other test.
  __device__ bool shows_all(int row, int row_count, int column, int column_count) const {
    return !keep && row + row_count <= rows && column + column_count <= columns &&
           column >= row + row_count - 1 + low && column + column_count - 1 <= row + high;
  }
  /// Whether causal mask and window hide all of a tile.
  __device__ bool shows_none(int row, int row_count, int column, int column_count) const {
    return row >= rows || column > row + row_count - 1 + high || column + column_count - 1 < row + low;
  }
  /// The elements of this lane that are visible, in the warp's tile from `row` and `column` on.
  template <int M, int kColumns>
  __device__ TAPE_INLINE void visible(int row, int column, uint32_t (&set)[M]) const {
    const int count = min(kColumns, columns - column);
    const bool* const first = keep ? keep + row * row_stride + column * column_stride : nullptr;
    // A mask of keys alone, as for padding, is read once: for all rows, or for all columns of a row.
    const bool same_rows = first && row_stride == 0, same_columns = first && column_stride == 0;
    const uint32_t of_rows = same_rows && !same_columns ? kept_columns<kColumns>(first, count) : ~0U;
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      set[m] = 0;
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        const int offset = 16 * m + 8 * h + lane_row(), r = row + offset;
        const bool sees = r < rows && (!same_columns || first[offset * row_stride]);
        const int begin = r + low - column, end = sees ? min(r + high + 1 - column, count) : 0;
        uint32_t shown = of_rows;
        if (first && !same_rows && !same_columns && r < rows)
          shown = kept_columns<kColumns>(first + offset * row_stride, count);
        set[m] |= (shown & columns_before<kColumns>(end) & ~columns_before<kColumns>(begin)) << (16 * h);
      }
    }
  }

 private:
  /// This lane's columns before the one with the index `end`: bit 2 n + e.
  template <int kColumns>
  __device__ TAPE_INLINE static uint32_t columns_before(int end) {
    const auto c = static_cast<uint32_t>(min(max(end - lane_column(), 0), kColumns));
    return (1U << (c / 8 * 2 + min(c % 8, 2U))) - 1;
  }
  /// Which of this lane's columns a row of the keep mask shows, of `count`: bit 2 n + e.
  template <int kColumns>
  __device__ TAPE_INLINE uint32_t kept_columns(const bool* row_of_mask, int count) const {
    uint32_t set = 0;
    TAPE_UNROLL for (int bit = 0; bit < kColumns / 4; ++bit) {
      const int c = bit / 2 * 8 + lane_column() + bit % 2;
      if (c < count && row_of_mask[c * column_stride]) set |= 1U << bit;
    }
    return set;
  }
};
__device__ inline const bool* keep_of(const AttentionShape& s, const Head& head, const bool* keep) {
  return keep ? keep + head.b * s.keep_strides[0] + head.h * s.keep_strides[1] : nullptr;
}
/// An offset in 32 bits that hides the same, for as many positions as has_bf16_attention() accepts.
__device__ inline int short_offset(int64_t offset) {
  constexpr int64_t kFar = INT64_C(1) << 29;
  return static_cast<int>(offset < -kFar ? -kFar : offset < kFar ? offset : kFar);
}
/// Rows are queries.
__device__ inline TileMasks masks_of_queries(const AttentionShape& s, const Head& head, const bool* keep) {
  return {static_cast<int>(s.Tq),
          static_cast<int>(s.Tk),
          short_offset(s.first_offset),
          short_offset(s.causal_offset),
          keep_of(s, head, keep),
          s.keep_strides[2],
          s.keep_strides[3]};
}
/// Rows are keys.
__device__ inline TileMasks masks_of_keys(const AttentionShape& s, const Head& head, const bool* keep) {
  return {static_cast<int>(s.Tk),
          static_cast<int>(s.Tq),
          short_offset(-s.causal_offset),
          short_offset(-s.first_offset),
          keep_of(s, head, keep),
          s.keep_strides[3],
          s.keep_strides[2]};
}

/// The tiles of `size` positions that hold a range: `count` of them from position `first` on.
struct TileSteps {
  int first, count;

  __device__ TileSteps(const Positions& range, int size)
      : first(static_cast<int>(range.begin) / size * size),
        count(range.begin < range.end ? (static_cast<int>(range.end) - first + size - 1) / size : 0) {}
};

/// What a warp's tile shows.
enum class Shown { none, some, all };
/// `set` is only written where the tile shows some elements, in any lane.
template <int M, int kColumns>
__device__ TAPE_INLINE Shown shown(const TileMasks& masks, int row, int column, uint32_t (&set)[M]) {
  if (masks.shows_all(row, 16 * M, column, kColumns)) return Shown::all;
  if (masks.shows_none(row, 16 * M, column, kColumns)) return Shown::none;
  masks.visible<M, kColumns>(row, column, set);
  uint32_t any = 0;
  TAPE_UNROLL for (int m = 0; m < M; ++m) any |= set[m];
  return __any_sync(~0U, any != 0) ? Shown::some : Shown::none;
}

/// Sets the elements outside of a set.
template <int M, int N>
__device__ TAPE_INLINE void fill_outside(const uint32_t (&set)[M], float value, float (&tile)[M][N][4]) {
  TAPE_UNROLL for (int m = 0; m < M; ++m) {
    TAPE_UNROLL for (int n = 0; n < N; ++n) {
      TAPE_UNROLL for (int i = 0; i < 4; ++i) {
        if (!(set[m] >> (16 * (i / 2) + 2 * n + i % 2) & 1)) tile[m][n][i] = value;
      }
    }
  }
}

/// Rounds a tile to bf16, with zeros outside of a set.
template <int M, int N>
__device__ TAPE_INLINE void pack_tile(const uint32_t (&set)[M], const float (&values)[M][N][4],
                                      uint32_t (&packed)[M][N][2]) {
  TAPE_UNROLL for (int m = 0; m < M; ++m) {
    TAPE_UNROLL for (int n = 0; n < N; ++n) {
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        const uint32_t pair = set[m] >> (16 * h + 2 * n),
                       mask = (pair & 1 ? 0xFFFFU : 0U) | (pair & 2 ? 0xFFFF0000U : 0U);
        packed[m][n][h] = pack(values[m][n][2 * h], values[m][n][2 * h + 1]) & mask;
      }
    }
  }
}

/// The draws of dropout for one head: those of AttentionDropout, a block of four at a time. Lanes that need the same
/// draws share the work.
struct TileDropout {
  static constexpr int kLanesOfRow = 0b00011, kLanesOfColumn = 0b11100;  // bits of the index of a lane
  uint64_t seed, first;                                                  // draw of the head's first score
  int64_t keys;
  uint32_t least;

  __device__ TileDropout(const AttentionShape& s, const Head& head)
      : seed(s.seed),
        first(s.counter + static_cast<uint64_t>(head.row(s, 0) * s.Tk)),
        keys(s.Tk),
        least(s.dropout < 1 ? static_cast<uint32_t>(s.dropout * 4294967296.0) : 0) {}

  /// Bits of the keys [j, j + kCount) that are kept for a query. Lanes whose indices differ only in the bits of
  /// kLaneBits pass the same query and divide the work: `part` is the lane's number among them.
  template <int kCount, int kLaneBits>
  __device__ TAPE_INLINE uint64_t kept(int query, int j, int part) const {
    constexpr int kParts = kLaneBits == kLanesOfRow ? 4 : 8;
    const uint64_t from = first + static_cast<uint64_t>(query * keys + j);
    const int skipped = static_cast<int>(from & 3);
    uint64_t bits = 0;
    TAPE_UNROLL for (int block = 0; 4 * block < kCount + 3; block += kParts) {
      const int at = 4 * (block + part) - skipped;
      if (at >= kCount) continue;
      // Draws are counted modulo 2^64, so their blocks modulo 2^62.
      const uint64_t index = ((from >> 2) + static_cast<uint64_t>(block + part)) & ~uint64_t{0} >> 2;
      const auto draws = tape::kernels::stream_block(seed, index);
      uint32_t four = 0;
      TAPE_UNROLL for (int i = 0; i < 4; ++i) four |= (draws.word[i] >= least ? 1U : 0U) << i;
      bits |= at < 0 ? four >> -at : static_cast<uint64_t>(four) << at;
    }
    TAPE_UNROLL for (int bit = 1; bit < 32; bit *= 2) {
      if (kLaneBits & bit) bits |= __shfl_xor_sync(~0U, bits, bit);
    }
    return bits;
  }
  /// The kept elements of a tile whose rows are queries.
  template <int M, int kColumns>
  __device__ TAPE_INLINE void kept_of_queries(int row, int column, uint32_t (&set)[M]) const {
    TAPE_UNROLL for (int m = 0; m < M; ++m) {
      set[m] = 0;
      TAPE_UNROLL for (int h = 0; h < 2; ++h) {
        const uint64_t bits = kept<kColumns, kLanesOfRow>(row + 16 * m + 8 * h + lane_row(), column, lane() % 4);
        TAPE_UNROLL for (int n = 0; n < kColumns / 8; ++n) {
          set[m] |= static_cast<uint32_t>(bits >> (8 * n + lane_column()) & 3) << (16 * h + 2 * n);
        }
      }
    }
  }
  /// The kept elements of a tile whose rows are keys.
  template <int M, int kColumns>
  __device__ TAPE_INLINE void kept_of_keys(int row, int column, uint32_t (&set)[M]) const {
    TAPE_UNROLL for (int m = 0; m < M; ++m) set[m] = 0;
    TAPE_UNROLL for (int bit = 0; bit < kColumns / 4; ++bit) {
      const uint64_t bits =
          kept<16 * M, kLanesOfColumn>(column + bit / 2 * 8 + lane_column() + bit % 2, row, lane_row());
      TAPE_UNROLL for (int m = 0; m < M; ++m) {
        TAPE_UNROLL for (int h = 0; h < 2; ++h) {
          set[m] |= static_cast<uint32_t>(bits >> (16 * m + 8 * h + lane_row()) & 1) << (16 * h + bit);
        }
      }
    }
  }
};
