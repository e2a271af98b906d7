#pragma once

#include "../../mask.h"
#include "../../tensor.h"

// The steps that all attention has around its scores.
namespace tape {

/// Heads that lie side by side apart, [B, T, H D] -> [B, H, T, D]. Error (shape) where they do not fit.
Tensor split_heads(const Tensor& x, int64_t heads);
/// And back.
Tensor merge_heads(const Tensor& x);

/// The first `length` positions of keys or values, [..., T, C] -> [..., length, C]. With `rows`, as
/// CachedKeys::rows are once they were checked, position j of b is x[rows[b, j], j]: [R, T, C] -> [B, length, C].
Tensor gather_kv(const Tensor& x, const Tensor& rows, int64_t length);

/// scores + mask, [..., Tq, Tk]: -inf where a query does not see a key; the scores themselves where nothing is masked.
Tensor masked_scores(const Tensor& scores, const Mask& mask);

}  // namespace tape
