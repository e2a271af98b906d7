#pragma once

#include "../attention.h"

namespace tape::kernels {

/// The kernels that are fastest for attention of at least the shape's precision: on tiles, where there are any, if
/// it has scores enough (128 x 128 in medium, 256 x 256 in high precision); else attention<float>().
const AttentionKernels<float>& attention_by_precision(const AttentionShape& shape);

/// amx::attention() (tile_attention.h) in plain C++: the bits of its products; of its exponentials those of this CPU's
/// level.
const AttentionKernels<float>& emulated_tile_attention(int parts);

}  // namespace tape::kernels
