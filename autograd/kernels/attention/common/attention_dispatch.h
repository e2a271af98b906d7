#pragma once

#include "../attention.h"

namespace tape::kernels {

/// The fastest kernels for attention with at least the shape's precision: AMX tiles if available and the scores are
/// large enough (128 x 128 in medium, 256 x 256 in high precision), else attention<float>().
const AttentionKernels<float>& attention_by_precision(const AttentionShape& shape);
/// The same for a call of an operation; f64 has kernels of only one precision.
inline const AttentionKernels<float>& attention_by_precision(const Place<float>& place, const AttentionShape& shape) {
  return place.device.is_cpu() ? attention_by_precision(shape) : attention(place);
}
#if !defined(__wasm__)
/// For shapes with has_bf16_attention() on a GPU.
inline const AttentionKernels<BFloat16>& attention_by_precision(const Place<BFloat16>& place, const AttentionShape&) {
  return attention(place);
}
#endif
inline const AttentionKernels<double>& attention_by_precision(const Place<double>& place, const AttentionShape&) {
  return attention(place);
}

}  // namespace tape::kernels
