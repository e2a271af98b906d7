#pragma once

#include "../../autograd/tensor.h"

namespace tape::nn {

/// Keys (after RoPE) and values of the positions that B sequences have seen so far. Copies of a cache are independent.
struct KeyValueCache {
  KeyValueCache() = default;
  /// Holds T positions: keys and values [B, T, kv_heads D].
  KeyValueCache(Tensor keys, Tensor values);

  /// [B, capacity, kv_heads D], of which the first size() positions are valid; undefined while empty.
  /// @{
  Tensor key, value;
  /// @}

  int64_t length() const { return evicted_ + size_; }  ///< number of positions seen
  int64_t size() const { return size_; }               ///< number of positions still stored, the last of those seen
  /// Row map after sequences were reordered: position j of sequence i is in row rows()[i, j] of `key` and `value`,
  /// [B, at least size()] (i64; KvCacheView::rows). Undefined while each sequence has its own row.
  const Tensor& rows() const { return rows_; }
  /// Returns the valid positions in sequence order: [B, size(), kv_heads D].
  /// @{
  Tensor keys() const;
  Tensor values() const;
  /// @}
  /// Appends the next positions [B, T, kv_heads D]. Without gradients they are written into a buffer that doubles when
  /// it is full; with gradients there is no spare capacity, and everything is on the tape.
  void append(const Tensor& next_key, const Tensor& next_value);
  /// Allows all but the last `count` positions to be dropped. They are dropped once there are as many as remain, so
  /// that each position is copied once or twice, and fewer than 2 count + 1 are stored (17 if count is small).
  void evict_before(int64_t count);
  /// Replaces sequence i by sequence chosen[i]: chosen [B'] (i64). Without gradients and for B' = B this only updates
  /// rows() and copies nothing. Throws Error (index) for a sequence out of range.
  void select(const Tensor& chosen);

 private:
  Tensor rows_;
  int64_t size_ = 0, evicted_ = 0;
};

}  // namespace tape::nn
