#pragma once

#include "../../autograd/mask.h"

namespace tape::nn {

/// Returns the slopes m_h of attention with linear biases [H]: 2^(-8h/H), h = 1 .. H, if H is a power of two;
/// otherwise those of the next lower power of two n, followed by every second slope of 2n (Press et al. 2022, "Train
/// short, test long", section 3 and its code). Throws Error (config) for fewer than one head.
Tensor alibi_slopes(int64_t heads, DType dtype = f32);

/// Returns the bias -m_h |i + first - j| on the scores of query i and key j, [H, Tq, Tk]. With Mask::causal() this is
/// the paper's bias. `first` is the position of the first query, the length of the cache.
Mask alibi(int64_t heads, int64_t query_length, int64_t key_length, int64_t first = 0, DType dtype = f32);

}  // namespace tape::nn
