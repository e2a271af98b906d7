#pragma once

#include <cstdint>

#include "../runtime/common/axes.h"

namespace tape::kernels {

/// Two or three operands broadcast to one output: element strides of each operand (0 where it is repeated), dimensions
/// already merged wherever neighbours allow it, innermost last. rank 0 means one element.
struct Broadcast {
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[3][kMaxRank] = {};  // of a, b, c
};

}  // namespace tape::kernels
