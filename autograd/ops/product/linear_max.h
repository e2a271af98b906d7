#pragma once

#include "../index/order.h"

namespace tape {

// The largest or the k largest scores of the next token, for decoding; no gradients. `vocab_limit` is the number of ids
// to consider, from the first on; 0: all (Error (config) for more than there are). An embedding table may be larger
// than the vocabulary.

/// max() and argmax() along the last axis, which is kept with size 1. Values of f16 and bf16 are returned in f32.
TopK max_with_index(const Tensor& x, int64_t vocab_limit = 0);

/// x [..., n] -> [..., vocab_limit] with values below the k-th largest of each row replaced by -inf. Ties with the k-th
/// and NaN are kept; with a larger k everything is. f16 and bf16 become f32. Error (config) for k below 1.
Tensor keep_top_k(const Tensor& x, int64_t k, int64_t vocab_limit = 0);

/// max_with_index(linear(x, weight, bias), vocab_limit): x [..., in], weight [out, in], bias [out] -> [..., 1] each.
/// Errors as in linear().
///
/// If x is one row and an f32 weight is kept packed (keep_packed()), an int8 copy of the weight is read first to bound
/// all scores, and only rows that may still be the largest are multiplied in f32. Values and indices are bitwise the
/// same for a quarter of the memory traffic. Several rows, or many candidates, use the whole product.
TopK linear_max(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, int64_t vocab_limit = 0);

/// keep_top_k(linear(x, weight, bias), k, vocab_limit), with the same pruning as linear_max() for one row; it pays for
/// k much smaller than `vocab_limit`.
Tensor linear_top_k(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t k, int64_t vocab_limit = 0);

}  // namespace tape
