#pragma once

#include <cstdint>
#include <string>

#include "gguf.h"

namespace tape::detail {

/// Number of values that are stored together, and their size in bytes: 32 in 34 for Q8_0, 1 in 4 for F32.
struct GgufBlock {
  int64_t values, bytes;
};
GgufBlock block_of(GgufType type);

/// Size in bytes of `count` values, a multiple of the block's.
std::string to_blocks(const float* values, int64_t count, GgufType type);
void from_blocks(const char* bytes, int64_t count, GgufType type, float* values);

}  // namespace tape::detail
