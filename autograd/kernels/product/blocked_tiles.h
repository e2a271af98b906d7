#pragma once

// Blocked matrix products: operands are packed into panels, and a tile of C is accumulated in registers. The packed
// format and its multiplication are a template parameter.

#include "blocked_product.h"
#include "row_sums_a.h"
#include "small_gemm.h"

namespace tape::kernels::TAPE_LEVEL {

// A tile of C [kRows, kVectors of lanes] stays in registers along k: 24 of 32 registers with AVX-512, otherwise 12 of
// 16. Blocks of A stay in the L2 cache; panels of B come from the L2 or L3.
#if defined(__AVX512F__)
inline constexpr int kRows = 12, kVectors = 2;
#else
inline constexpr int kRows = 4, kVectors = 3;
#endif
inline constexpr int64_t kRowBlock = 192, kColumnBlock = 2048;
/// Block size along k, in bytes of one packed row.
inline constexpr int64_t kInnerBytes = 3072;

// Members of `Arithmetic`:
//   using Value: the type of C and of the operands in memory; packed values have its size
//   kDepth: number of values along k in one packed value
//   kReadsRows: whether a tile may read A unpacked
//   multiply_add(sum, b, a): sum + b a, where b is a vector of packed values and a a single one
//   pack<width>(across, count, k, x, stride, last, to): packs one axis of x, of size `count`, into panels of `width`
//     (an incomplete last one of `last`), each [k / kDepth, width]. `across`: the axis runs over the rows of x, and k
//     along each row.

template <class T>
struct Output {
  T* c;
  int64_t row;  // row stride in elements
  bool accumulate;
  const T* bias;  // may be null
};

/// How a tile reads A: packed as [k, rows], or in place with rows `stride` apart.
enum class Left { packed, rows };

/// What a tile prefetches into the L2 cache: `bytes` per step along k, from `first` on. Without it, every panel of a B
/// that is read only once, such as a weight applied to few rows, would stall.
struct Prefetch {
  const char* first;
  int64_t bytes;
};

/// C [valid_rows, valid_columns] from a and packed b [k, vectors of lanes].
template <class Arithmetic, Left left, int rows, int vectors, class T>
static void tile(int64_t k, const T* a, int64_t stride, const T* b, int64_t valid_rows, int64_t valid_columns,
                 const Output<T>& out, const Prefetch& ahead) {
  constexpr int kStep = kLanes<T>;
  constexpr int kGroups = rows / 4;  // one pointer per group: x86 addressing covers strides 1 and 2, a register has 3
  Vec<T> sums[rows][vectors] = {};
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) __builtin_prefetch(out.c + r * out.row + v * kStep, 1);
  const T* group[kGroups];
  for (int g = 0; g < kGroups; ++g) group[g] = left == Left::packed ? a + 4 * g : a + 4 * g * stride;
  const int64_t third = 3 * stride;
  const char* next = ahead.first;
  for (int64_t i = 0; i < k; ++i, b += vectors * kStep, next += ahead.bytes) {
    constexpr int64_t kCacheLine = 64;
    for (int line = 0; line < 2; ++line) __builtin_prefetch(next + line * kCacheLine, 0, 2);
    Vec<T> column[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) column[v] = load(b + v * kStep);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      asm("" : "+r"(group[g]));  // otherwise the compiler keeps one pointer per row and spills
      const T* const from = group[g];
      const T x[4] = {from[0], left == Left::packed ? from[1] : from[stride],
                      left == Left::packed ? from[2] : from[2 * stride], left == Left::packed ? from[3] : from[third]};
      group[g] = from + (left == Left::packed ? rows : 1);
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          sums[4 * g + q][v] = Arithmetic::multiply_add(sums[4 * g + q][v], column[v], x[q]);
        }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    if (r >= valid_rows) break;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const int64_t rest = valid_columns - v * kStep;
      T* to = out.c + r * out.row + v * kStep;
      Vec<T> value = sums[r][v];
      if (out.bias) value += load_first_or_all(out.bias + v * kStep, rest, T(0));
      if (out.accumulate) value += load_first_or_all(to, rest, T(0));
      store_first_or_all(to, value, rest);
    }
  }
}

template <class Arithmetic, Left left, int rows, class T>
TAPE_INLINE void tile_of_width(int64_t k, const T* a, int64_t stride, const T* b, int64_t valid_rows,
                               int64_t valid_columns, const Output<T>& out, const Prefetch& ahead) {
  const int64_t vectors = ceil_div(valid_columns, kLanes<T>);
  if (vectors == kVectors)
    return tile<Arithmetic, left, rows, kVectors>(k, a, stride, b, valid_rows, valid_columns, out, ahead);
  if constexpr (kVectors > 2)
    if (vectors == 2) return tile<Arithmetic, left, rows, 2>(k, a, stride, b, valid_rows, valid_columns, out, ahead);
  tile<Arithmetic, left, rows, 1>(k, a, stride, b, valid_rows, valid_columns, out, ahead);
}

/// Rounded up to a multiple of four rows, because packing transposes four at a time.
TAPE_INLINE int64_t packed_rows(int64_t rows) { return ceil_div(rows, 4) * 4; }

/// The tiles of up to kRows rows of C: full ones read A packed or in place, the last one packed rows.
template <class Arithmetic, Left left, class T>
TAPE_INLINE void multiply_rows(int64_t rows, int64_t columns, int64_t k, const T* a, int64_t stride, const T* b,
                               const Output<T>& out, const Prefetch& ahead) {
  if constexpr (kRows > 4 && left == Left::packed) {
    if (rows <= 4) return tile_of_width<Arithmetic, left, 4>(k, a, stride, b, rows, columns, out, ahead);
    if (rows <= 8) return tile_of_width<Arithmetic, left, 8>(k, a, stride, b, rows, columns, out, ahead);
  }
  tile_of_width<Arithmetic, left, kRows>(k, a, stride, b, rows, columns, out, ahead);
}

/// A block of rows of A. The last rows % kRows are always packed, the others if `packed`.
template <class T>
struct Rows {
  bool packed;
  const T* unpacked;
  int64_t stride;
  const T* all_packed;
};

/// All tiles of a block of rows of A and a packed block of columns of B.
template <class Arithmetic, class T>
TAPE_INLINE void multiply_blocks(int64_t rows, int64_t columns, int64_t k, const Rows<T>& a, const T* b,
                                 const Output<T>& whole) {
  constexpr int64_t kWidth = kVectors * kLanes<T>;
  const int64_t tiles = ceil_div(rows, kRows), share = ceil_div(kWidth * int64_t{sizeof(T)}, tiles);
  for (int64_t column = 0; column < columns; column += kWidth) {
    const int64_t valid = smaller(kWidth, columns - column);
    // The tiles of a panel together prefetch the next panel; those of the last panel, their own.
    const T* const next = b + (column + kWidth < columns ? column + kWidth : column) * k;
    for (int64_t row = 0; row < rows; row += kRows) {
      const Prefetch ahead{reinterpret_cast<const char*>(next) + row / kRows * share * k, share};
      const Output<T> out{whole.c + row * whole.row + column, whole.row, whole.accumulate,
                          whole.bias ? whole.bias + column : nullptr};
      if (a.packed || row + kRows > rows)
        multiply_rows<Arithmetic, Left::packed>(smaller(kRows, rows - row), valid, k, a.all_packed + row * k, 1,
                                                b + column * k, out, ahead);
      else if constexpr (Arithmetic::kReadsRows)
        multiply_rows<Arithmetic, Left::rows>(kRows, valid, k, a.unpacked + row * a.stride, a.stride, b + column * k,
                                              out, ahead);
    }
  }
}

/// Number of columns of a panel of B, the width of a tile.
template <class T>
inline constexpr int64_t kPanelOf = kVectors * kLanes<T>;

/// Length of the block of k that is packed and multiplied at a time; blocks are as equal as possible.
template <class Arithmetic, class T = typename Arithmetic::Value>
TAPE_INLINE int64_t inner_of(int64_t k) {
  constexpr int64_t kDepth = Arithmetic::kDepth, kInner = kInnerBytes / static_cast<int64_t>(sizeof(T)) * kDepth;
  return ceil_div(ceil_div(k, ceil_div(k, kInner)), kDepth) * kDepth;
}

/// Packs columns [column, column + columns) of B, and k of its rows from `first` on.
template <class Arithmetic, class T = typename Arithmetic::Value>
TAPE_INLINE void pack_block(const Gemm& s, const T* b, int64_t first, int64_t k, int64_t column, int64_t columns,
                            T* to) {
  constexpr int64_t kWidth = kPanelOf<T>;
  Arithmetic::template pack<kWidth>(s.transpose_b, columns, k,
                                    b + (s.transpose_b ? column * s.ldb + first : first * s.ldb + column), s.ldb,
                                    padded<T>(columns % kWidth), to);
}

// Layout of a fully packed B with `all` columns: consecutive blocks of k, each with all its panels.

/// Offset of column `column` in the block of `depth` packed values that begins at `first` along k.
template <class Arithmetic, class T = typename Arithmetic::Value>
TAPE_INLINE int64_t packed_offset(int64_t all, int64_t first, int64_t depth, int64_t column) {
  return padded<T>(all) * (first / Arithmetic::kDepth) + column * depth;
}

template <class Arithmetic, class T = typename Arithmetic::Value>
static int64_t packed_right_bytes(const Gemm& s) {
  return padded<T>(s.n) * ceil_div(s.k, Arithmetic::kDepth) * static_cast<int64_t>(sizeof(T));
}

template <class Arithmetic, class T = typename Arithmetic::Value>
static void pack_right_columns(const Gemm& s, const T* b, int64_t begin, int64_t end, void* to) {
  const int64_t inner = inner_of<Arithmetic>(s.k);
  for (int64_t first = 0; first < s.k; first += inner) {
    const int64_t k = smaller(inner, s.k - first), depth = ceil_div(k, Arithmetic::kDepth);
    pack_block<Arithmetic>(s, b, first, k, begin, end - begin,
                           static_cast<T*>(to) + packed_offset<Arithmetic>(s.n, first, depth, begin));
  }
}

/// The product of gemm() on one thread.
template <class Arithmetic, class T = typename Arithmetic::Value>
static void multiply_all(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  constexpr int64_t kDepth = Arithmetic::kDepth, kBlock = kColumnBlock / kPanelOf<T> * kPanelOf<T>;
  const int64_t inner = inner_of<Arithmetic>(s.k);
  const bool packed = !Arithmetic::kReadsRows || packs_left(s, sizeof(T));
  Scratch<T> packed_a(packed_rows(smaller(s.m, kRowBlock)) * inner / kDepth);
  Scratch<T> packed_b(s.packed.values ? 0 : padded<T>(smaller(s.n, kBlock)) * inner / kDepth);
  for (int64_t column = 0; column < s.n; column += kBlock) {
    const int64_t columns = smaller(kBlock, s.n - column);
    for (int64_t first = 0; first < s.k; first += inner) {
      const int64_t k = smaller(inner, s.k - first), depth = ceil_div(k, kDepth);
      const T* right = packed_b.data();
      if (s.packed.values)
        right = static_cast<const T*>(s.packed.values) +
                packed_offset<Arithmetic>(s.packed.columns, first, depth, s.packed.column + column);
      else
        pack_block<Arithmetic>(s, b, first, k, column, columns, packed_b.data());
      for (int64_t row = 0; row < s.m; row += kRowBlock) {
        const int64_t rows = smaller(kRowBlock, s.m - row), skipped = packed ? 0 : rows - rows % kRows;
        const T* const from = a + (s.transpose_a ? first * s.lda + row : row * s.lda + first);
        if (s.row_sums_a && column == 0)
          add_left_sums(rows, k, from, s.lda, first == 0, static_cast<T*>(s.row_sums_a) + row);
        Arithmetic::template pack<kRows>(!s.transpose_a, rows - skipped, k, from + skipped * s.lda, s.lda,
                                         packed_rows(rows % kRows), packed_a.data() + skipped * depth);
        multiply_blocks<Arithmetic>(rows, columns, depth, Rows<T>{packed, from, s.lda, packed_a.data()}, right,
                                    Output<T>{c + row * s.ldc + column, s.ldc, s.accumulate || first > 0,
                                              bias && first == 0 ? bias + column : nullptr});
      }
    }
  }
}

}  // namespace tape::kernels::TAPE_LEVEL
