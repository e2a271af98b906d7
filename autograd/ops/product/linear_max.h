#pragma once

#include "../index/order.h"

namespace tape {

// What a decoder asks of the next word's scores, without a gradient: the largest, or the k largest. `words` says of how
// many ids, from the first on; 0: of all (Error (config) for more than there are). A table may be longer than the
// vocabulary.

/// max() and argmax() along the last axis, which stays with size 1; of f16 and bf16 too, whose values are f32 then.
TopK max_with_index(const Tensor& x, int64_t words = 0);

/// x [..., n] -> [..., words], -inf in place of what is below the k-th largest of its row, so that as many are left,
/// and what equals the last of them; NaN stays. All where k is larger. f16 and bf16 become f32. Error (config) for k
/// below 1.
Tensor keep_top_k(const Tensor& x, int64_t k, int64_t words = 0);

/// max_with_index(linear(x, weight, bias), words): x [..., in], weight [out, in], bias [out] -> [..., 1] each. Errors
/// as linear().
///
/// A weight of f32 that is kept packed (keep_packed()) is read in 8 bits a value first, with bounds of what that leaves
/// out, where x is one row: only rows of the weight that may still be the largest are multiplied as they are. Values
/// and indices are those of the three operations, bit for bit, for a quarter of the reading. Of several rows, and where
/// many rows of the weight may be the largest, the whole product is made.
TopK linear_max(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, int64_t words = 0);

/// keep_top_k(linear(x, weight, bias), k, words), of one row in the way of linear_max(): k that is small beside the
/// words leaves few of them.
Tensor linear_top_k(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t k, int64_t words = 0);

}  // namespace tape
