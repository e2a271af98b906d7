#pragma once

#include "../mask.h"
#include "../tensor.h"

// The steps that all attention has around its scores.
namespace tape {

/// Heads that lie side by side apart, [B, T, H D] -> [B, H, T, D]. Error (shape) where they do not fit.
Tensor split_heads(const Tensor& x, int64_t heads);
/// And back.
Tensor merge_heads(const Tensor& x);

/// Error (dtype, shape, index) unless AttentionOptions::key_rows are i64 [batch, at least length], the first `length`
/// of each in [0, count).
void check_key_rows(const Tensor& rows, int64_t batch, int64_t count, int64_t length);
/// x[rows[b, j], j] for its first `length` positions j, [R, T, C] -> [B, length, C], of such rows.
Tensor positions_of_rows(const Tensor& x, const Tensor& rows, int64_t length);

/// scores + mask, [..., Tq, Tk]: -inf where a query does not see a key; the scores themselves where nothing is masked.
Tensor masked_scores(const Tensor& scores, const Mask& mask);

}  // namespace tape
