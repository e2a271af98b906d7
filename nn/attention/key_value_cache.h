#pragma once

#include "../../autograd/tensor.h"

namespace tape::nn {

/// Keys and values of the positions that B sequences have seen so far, keys turned. Copies of a cache go on
/// independently of each other.
struct KeyValueCache {
  KeyValueCache() = default;
  KeyValueCache(Tensor keys, Tensor values);

  /// [B, capacity, kv_heads D] each, of which the first held() positions count; undefined before the first.
  Tensor key, value;

  int64_t length() const { return forgotten_ + held_; }  ///< positions seen
  int64_t held() const { return held_; }                 ///< the last of them, which are not forgotten
  /// Where sequences have changed places: position j of sequence i is that of row rows()[i, j] of `key` and `value`,
  /// [B, at least held()] (i64; CachedKeys::rows). Undefined while each sequence has its own row.
  const Tensor& rows() const { return rows_; }
  /// What counts, each sequence's in its place: [B, held(), kv_heads D].
  Tensor keys() const;
  Tensor values() const;
  /// The next positions [B, T, kv_heads D]. Without gradients they are written into room that doubles when it is full;
  /// with gradients there is no room, and everything is on the tape.
  void append(const Tensor& next_key, const Tensor& next_value);
  /// All but the last `count` positions seen need not be kept. They are let go when as many can go as stay, so that a
  /// position is moved once or twice, and fewer than 2 count + 1 are held (17 with a small count).
  void forget_before(int64_t count);
  /// Sequence i becomes what sequence chosen[i] is: chosen [B'] (i64). Without gradients, where there are as many as
  /// before, rows() say so, and nothing is copied. Error (index) for a sequence that is not there.
  void select(const Tensor& chosen);

 private:
  Tensor rows_;
  int64_t held_ = 0, forgotten_ = 0;
};

}  // namespace tape::nn
