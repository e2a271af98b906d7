#pragma once

#include "attention.h"

namespace tape::detail {

/// Error (shape, dtype) where query [..., Tq, D], key [..., Tk, D] and value [..., Tk, Dv] do not fit together: heads
/// apart, with fewer of them in key and value where `grouped`.
void check_operands(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped);
/// The same for `heads` heads side by side: query [B, Tq, H D], key [B, Tk, K D], value [B, Tk, K Dv], with key_rows
/// any number of rows in key and value; gives K, which is H unless enable_gqa.
int64_t check_side_by_side(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                           const AttentionOptions& options);
/// Error (dtype, shape, index) unless `rows` are i64 [batch, at least length], the first `length` of each in [0,
/// count).
void check_key_rows(const Tensor& rows, int64_t batch, int64_t count, int64_t length);
/// How many keys count. Error (config) for more than there are.
int64_t checked_key_length(const char* name, const AttentionOptions& options, const Tensor& key);
/// Error (dtype) unless an additive mask has the dtype that the query is computed in.
void check_additive_dtype(const Tensor& query, const Tensor& additive);
/// A mask for operands of the given rank as one for [B, H, Tq, Tk]. `kind` is what errors call it.
Tensor attention_mask(const char* kind, const Tensor& mask, int64_t rank, const Shape& scores);

}  // namespace tape::detail
