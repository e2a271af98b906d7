#pragma once

#include "order.h"

namespace tape {

/// max() and argmax() along the last axis, which stays with size 1, without a gradient; of f16 and bf16 too, whose
/// values are f32 then.
TopK max_at(const Tensor& x);

/// max_at(linear(x, weight, bias)): x [..., in], weight [out, in], bias [out] -> [..., 1] each. What a greedy decoder
/// says next. Errors as linear().
///
/// A weight of f32 that is kept packed (keep_packed()) is read in 8 bits a value first, with bounds of what that leaves
/// out: only rows of it that may still be the largest are multiplied as they are. Values and indices are those of the
/// three operations, bit for bit, for a quarter of the reading where x is one row. Of several rows this is done on CPUs
/// with AVX512-VNNI, which multiply numbers of 8 bits at four times the rate of floats; on others, and where many rows
/// of the weight may be the largest, the whole product is made.
TopK linear_max(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tape
