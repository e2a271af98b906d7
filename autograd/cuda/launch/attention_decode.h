#pragma once

#include <algorithm>

#include "../../kernels/attention/attention.h"
#include "../kernels/attention/attention_shape.h"
#include "elements.h"

namespace tape::kernels::cuda {

/// Whether the forward pass splits the keys of a head over several blocks.
template <class T>
bool has_few_queries(const AttentionShape& s) {
  return s.Tq <= AttentionParts::kMostQueries && std::max(s.D, s.Dv) <= AttentionParts::most_width(sizeof(Sum<T>));
}

/// The forward pass for such shapes. Scores are summed in another order than by the other kernels, so `highest` and
/// `inverse` differ from theirs by rounding; see AttentionResults::for_backward.
template <class T>
void attend_in_parts(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionResults<T>& to);

}  // namespace tape::kernels::cuda
