#pragma once

#include <functional>

#include "../../autograd/mask.h"
#include "../../autograd/ops/attention/heads.h"

namespace tape::nn {

// Attention step by step, for layers whose scores are not those of scaled_dot_product_attention alone.

using tape::merge_heads;
using tape::split_heads;

/// d_model, where a layer's first member is initialized with it. Throws Error (config) unless heads divides it.
int64_t checked_width(const char* layer, int64_t d_model, int64_t heads);

/// Which row of a table of positions belongs to query i and key j: row_of(j - i), [Tq, Tk], i64.
Tensor rows_by_distance(int64_t query_length, int64_t key_length, const std::function<int64_t(int64_t)>& row_of);

/// The mask of a row whose keys are all hidden becomes one under which its queries attend to all keys evenly, as in
/// models that add the lowest number to the scores of hidden keys (T5, MPNet). Other rows stay as they are. Of the mask
/// only kept() is looked at; `dtype` is that of the scores.
Mask uniform_if_all_hidden(const Mask& mask, DType dtype);

}  // namespace tape::nn
