#pragma once

#include "attention.h"

namespace tape::detail {

/// Error (shape, dtype) if query [..., Tq, D], key [..., Tk, D] and value [..., Tk, Dv] do not fit together. With
/// `grouped`, key and value may have fewer heads.
void check_operands(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped);
struct PackedHeadsCheck {
  bool grouped = false;   ///< K may be less than H
  bool any_rows = false;  ///< key and value may have a different number of rows than the query
};
/// Checks operands in packed layout: query [B, Tq, H D], key [B, Tk, K D], value [B, Tk, K Dv]. Returns K.
int64_t check_packed_heads(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                           const PackedHeadsCheck& may);
/// The cache with rows that kernels can use. Error (config) for a length beyond the capacity; (dtype, shape, index)
/// unless the rows, if any, are i64 [batch, at least length] and the first `length` of each batch row are rows of the
/// key.
KvCacheView checked_cache(const KvCacheView& cached, int64_t batch);
/// Error (dtype) unless an additive mask has the query's compute dtype.
void check_additive_dtype(const Tensor& query, const Tensor& additive);
/// Converts a mask for operands of the given rank to four axes that broadcast to [B, H, Tq, Tk]. `kind` names the mask
/// in errors.
Tensor attention_mask(const char* kind, const Tensor& mask, int64_t rank, const Shape& scores);

}  // namespace tape::detail
