#pragma once

#include "../autograd/tensor.h"

namespace tape::nn {

/// Keys and values of the positions seen so far, keys turned. Copies of a cache go on independently of each other.
struct KeyValueCache {
  KeyValueCache() = default;
  KeyValueCache(Tensor keys, Tensor values);

  /// [B, capacity, kv_heads D] each, of which the first held() positions count; undefined before the first.
  Tensor key, value;

  int64_t length() const { return forgotten_ + held_; }  ///< positions seen
  int64_t held() const { return held_; }                 ///< the last of them, which are not forgotten
  /// The next positions [B, T, kv_heads D]. Without gradients they are written into room that doubles when it is full;
  /// with gradients there is no room, and everything is on the tape.
  void append(const Tensor& next_key, const Tensor& next_value);
  /// All but the last `count` positions seen need not be kept. They are let go when as many can go as stay, so that a
  /// position is moved once or twice, and fewer than 2 count + 1 are held (17 with a small count).
  void forget_before(int64_t count);
  /// Row i becomes what row rows[i] is: rows [B'] (i64). Without gradients only rows that change are copied, and of
  /// them what counts. Error (index) for a row that is not there.
  void select(const Tensor& rows);

 private:
  int64_t held_ = 0, forgotten_ = 0;
};

}  // namespace tape::nn
