#pragma once

#include "attention.h"

namespace tape::detail {

/// Error (shape, dtype) where query [..., Tq, D], key [..., Tk, D] and value [..., Tk, Dv] do not fit together: heads
/// apart, with fewer of them in key and value where `grouped`.
void check_operands(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped);
struct SideBySide {
  bool grouped = false;   ///< K may be less than H
  bool any_rows = false;  ///< key and value may have other rows than the query
};
/// The same for `heads` heads side by side: query [B, Tq, H D], key [B, Tk, K D], value [B, Tk, K Dv]; gives K.
int64_t check_side_by_side(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                           const SideBySide& may);
/// Error (config) for more positions than there are; (dtype, shape, index) unless the rows, if any, are i64 [batch, at
/// least length], the first `length` of each among those of the key.
void check_cached(const CachedKeys& cached, int64_t batch);
/// Error (dtype) unless an additive mask has the dtype that the query is computed in.
void check_additive_dtype(const Tensor& query, const Tensor& additive);
/// A mask for operands of the given rank as one for [B, H, Tq, Tk]. `kind` is what errors call it.
Tensor attention_mask(const char* kind, const Tensor& mask, int64_t rank, const Shape& scores);

}  // namespace tape::detail
