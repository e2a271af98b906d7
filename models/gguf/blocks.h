#pragma once

#include <cstdint>
#include <string>

#include "gguf.h"

namespace tape::detail {

/// Values that are stored together, and the bytes they take: 32 of 34 in Q8_0, 1 of 4 in F32.
struct GgufBlock {
  int64_t values, bytes;
};
GgufBlock block_of(GgufType type);

/// The bytes of `count` values, a multiple of the block's.
std::string to_blocks(const float* values, int64_t count, GgufType type);
void from_blocks(const char* bytes, int64_t count, GgufType type, float* values);

}  // namespace tape::detail
