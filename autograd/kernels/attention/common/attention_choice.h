#pragma once

#include "../attention.h"

namespace tape::kernels {

/// The kernels that are fastest for attention of at least the shape's precision: on tiles, where there are any, if
/// it has scores enough (128 x 128 in medium, 256 x 256 in high precision); else attention<float>().
const AttentionKernels<float>& attention_by_precision(const AttentionShape& shape);
/// The same for a call of operations; f64 has kernels of one precision.
inline const AttentionKernels<float>& attention_by_precision(const Place<float>&, const AttentionShape& shape) {
  return attention_by_precision(shape);
}
inline const AttentionKernels<double>& attention_by_precision(const Place<double>& place, const AttentionShape&) {
  return attention(place);
}

}  // namespace tape::kernels
