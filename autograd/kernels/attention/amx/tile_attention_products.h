#pragma once

// The products of attention (attention_blocks.h) on AMX tiles, each value represented as a sum of 1 or 2 bf16.

#include "../../product/amx/tile_blocks.h"
#include "../../product/small_gemm.h"
#include "../attention.h"
#include "../attention_rows.h"

namespace tape::kernels::TAPE_LEVEL {

template <class Tiles, int parts>
class TileProducts {
 public:
  TileProducts(const AttentionShape& shape, int64_t block, int64_t keys, const HeadRows<float>& k,
               const HeadRows<float>& v)
      : shape_(shape),
        all_(keys),
        k_(k.first),
        v_(v.first),
        keys_(bytes(keys, shape.D)),
        values_transposed_(bytes(keys, shape.Dv)),
        keys_along_(bytes(shape.D, keys)),
        values_(bytes(shape.Dv, keys)),
        left_(larger(bytes(block, larger(keys, larger(shape.D, shape.Dv))), bytes(keys, block))),
        right_(bytes(larger(shape.D, shape.Dv), block)) {
    Tiles::configure();
  }
  ~TileProducts() { Tiles::release(); }
  TileProducts(const TileProducts&) = delete;
  TileProducts& operator=(const TileProducts&) = delete;

  static constexpr int64_t kAlign = kPair;
  /// Two pairs of tiles, so that the backward's sums over queries take two steps.
  static int64_t queries_per_block(const AttentionShape& s) { return larger(1, smaller(s.Tq, 2 * kPair)); }

  void prepare_forward() {
    pack_right(across(k_, shape_.k.row), all_, shape_.D, keys_);
    pack_right(along(v_, shape_.v.row), shape_.Dv, all_, values_);
  }
  void prepare_backward() {
    pack_right(across(k_, shape_.k.row), all_, shape_.D, keys_);
    pack_right(across(v_, shape_.v.row), all_, shape_.Dv, values_transposed_);
    pack_right(along(k_, shape_.k.row), shape_.D, all_, keys_along_);
  }
  void times_keys(int64_t begin, int64_t count, int64_t width, const float* a, int64_t a_row, float* c, int64_t c_row) {
    times(begin, count, width, a, a_row, shape_.D, keys_, c, c_row);
  }
  void times_values(int64_t begin, int64_t count, int64_t width, const float* a, int64_t a_row, float* c,
                    int64_t c_row) {
    times(begin, count, width, a, a_row, shape_.Dv, values_transposed_, c, c_row);
  }
  void sum_values(int64_t begin, int64_t count, int64_t keys, const float* a, int64_t a_row, float* c, int64_t c_row) {
    sum(begin, count, keys, a, a_row, shape_.Dv, values_, c, c_row);
  }
  void sum_keys(int64_t begin, int64_t count, int64_t keys, const float* a, int64_t a_row, float* c, int64_t c_row) {
    sum(begin, count, keys, a, a_row, shape_.D, keys_along_, c, c_row);
  }
  void add_transposed(int64_t keys, int64_t width, int64_t count, const float* a, int64_t a_row, const float* b,
                      int64_t b_row, float* c, int64_t c_row) {
    pack_right(along(b, b_row), width, count, right_);
    multiply(along(a, a_row), keys, count, right_.data(), ceil_div(count, kTileDepth),
             TileOutput{c, c_row, keys, width, true, nullptr});
  }

 private:
  /// Operands with k along each row of x, or over the rows.
  static TileOperand across(const float* x, int64_t row) { return {x, row, true}; }
  static TileOperand along(const float* x, int64_t row) { return {x, row, false}; }

  static int64_t bytes(int64_t count, int64_t depth) {
    return whole_tiles(count, kTile) * whole_tiles(depth, kTileDepth) * 2 * parts;
  }
  static void pack_right(const TileOperand& x, int64_t count, int64_t depth, const Scratch<char>& to) {
    pack_tiles<Tiles>(x, false, 0, 0, depth, TileLayout<parts>{to.data(), count, ceil_div(depth, kTileDepth)});
  }
  /// The part of `right`, packed in `right_steps`, that the product needs.
  void multiply(const TileOperand& left, int64_t rows, int64_t depth, const char* right, int64_t right_steps,
                const TileOutput& to) {
    const int64_t steps = ceil_div(depth, kTileDepth);
    pack_tiles<Tiles>(left, true, 0, 0, depth, TileLayout<parts>{left_.data(), rows, steps});
    multiply_blocks<Tiles, parts>(steps, left_.data(), right, right_steps, to);
  }
  void times(int64_t begin, int64_t count, int64_t width, const float* a, int64_t a_row, int64_t depth,
             const Scratch<char>& right, float* c, int64_t c_row) {
    // Only whole pairs of tiles are packed, and nothing beyond the last key, behind which an empty window may begin.
    const int64_t columns = larger(0, smaller(all_ - begin, whole_tiles(width, kPair)));
    const int64_t steps = ceil_div(depth, kTileDepth);
    multiply(across(a, a_row), count, depth, right.data() + begin / kTile * steps * parts * kTileBytes, steps,
             TileOutput{c, c_row, count, columns, false, nullptr});
    for (int64_t r = 0; r < count; ++r)
      for (int64_t j = columns; j < width; ++j) c[r * c_row + j] = 0;
  }
  void sum(int64_t begin, int64_t count, int64_t keys, const float* a, int64_t a_row, int64_t width,
           const Scratch<char>& right, float* c, int64_t c_row) {
    const int64_t steps = ceil_div(all_, kTileDepth);
    if (begin == 0)
      return multiply(across(a, a_row), count, keys, right.data(), steps,
                      TileOutput{c, c_row, count, width, false, nullptr});
    // One pair of tiles at a time: the first step starts elsewhere in the last pair, which may be a single tile.
    for (int64_t column = 0; column < width; column += kPair) {
      const int64_t columns = smaller(kPair, width - column), together = ceil_div(columns, kTile);
      const int64_t tile = column / kTile * steps + begin / kTileDepth * together;
      multiply(across(a, a_row), count, keys, right.data() + tile * parts * kTileBytes, steps,
               TileOutput{c + column, c_row, count, columns, false, nullptr});
    }
  }

  const AttentionShape& shape_;
  int64_t all_;  // number of keys
  const float *k_, *v_;
  Scratch<char> keys_, values_transposed_;  // for products with queries
  Scratch<char> keys_along_, values_;       // for sums over keys
  Scratch<char> left_, right_;
};

}  // namespace tape::kernels::TAPE_LEVEL
