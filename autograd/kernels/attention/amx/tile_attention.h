#pragma once

#include "../attention.h"

#if defined(__x86_64__)
namespace tape::kernels::amx {

/// attention<float>() with its products on tiles (AMX-BF16), each value taken as the sum of so many bf16, 1 or 2
/// (tile_blocks.h).
TAPE_WEAK const AttentionKernels<float>& attention(int parts);

}  // namespace tape::kernels::amx
#endif
