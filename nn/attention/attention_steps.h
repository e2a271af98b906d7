#pragma once

#include <functional>

#include "../../autograd/mask.h"
#include "../../autograd/ops/attention/heads.h"

namespace tape::nn {

// Unfused attention, for layers whose scores scaled_dot_product_attention cannot compute.

using tape::merge_heads;
using tape::split_heads;

/// Returns d_model. Runs in the initializer of a layer's first member. Throws Error (config) unless heads divides it.
int64_t check_d_model(const char* layer, int64_t d_model, int64_t heads);

/// Returns the table row for query i and key j, row_of(j - i): [Tq, Tk], i64.
Tensor relative_position_rows(int64_t query_length, int64_t key_length, const std::function<int64_t(int64_t)>& row_of,
                              Device device);

/// Replaces each mask row that hides all keys by one under which the query attends to all keys evenly, as in models
/// that add the lowest finite value to hidden scores (T5, MPNet). Other rows are unchanged. Uses only keep_mask() of
/// the mask; `dtype` is the dtype of the scores.
Mask uniform_if_all_hidden(const Mask& mask, DType dtype);

}  // namespace tape::nn
