#pragma once

#include "../../mask.h"
#include "../../tensor.h"

// Steps before and after the scores, common to all attention.
namespace tape {

/// Splits packed heads, [B, T, H D] -> [B, H, T, D]. Error (shape) if they do not fit.
Tensor split_heads(const Tensor& x, int64_t heads);
/// Inverse of split_heads, [B, H, T, D] -> [B, T, H D].
Tensor merge_heads(const Tensor& x);

/// The first `length` positions of keys or values, [..., T, C] -> [..., length, C]. With `rows` (checked
/// KvCacheView::rows), position j of batch row b is x[rows[b, j], j]: [R, T, C] -> [B, length, C].
Tensor gather_kv(const Tensor& x, const Tensor& rows, int64_t length);

/// scores + mask, [..., Tq, Tk]: -inf where a query does not see a key. Returns the scores if nothing is masked.
Tensor masked_scores(const Tensor& scores, const Mask& mask);

}  // namespace tape
