#pragma once

#include "../attention.h"

#if defined(__x86_64__)
namespace tape::kernels::amx {

/// attention<float>() with products on AMX-BF16 tiles, each value represented as a sum of 1 or 2 bf16 (tile_blocks.h).
TAPE_WEAK const AttentionKernels<float>& attention(int parts);

}  // namespace tape::kernels::amx
#endif
