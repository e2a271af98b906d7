#pragma once

#include "../../autograd/mask.h"

namespace tape::nn {

/// The slopes m_h of attention with linear biases [H]: 2^(-8h/H), h = 1 .. H, where H is a power of two; else those of
/// the power of two n below, followed by every second one of those of 2n (Press et al. 2022, "Train short, test long",
/// 3 and its code). Error (config) for fewer than one head.
Tensor alibi_slopes(int64_t heads, DType dtype = f32);

/// -m_h |i + first - j| to be added to the scores of query i and key j, [H, Tq, Tk]: the further, the less. With
/// Mask::causal() it is the paper's. `first` is the position of the first query, the length of the cache.
Mask alibi(int64_t heads, int64_t query_length, int64_t key_length, int64_t first = 0, DType dtype = f32);

}  // namespace tape::nn
