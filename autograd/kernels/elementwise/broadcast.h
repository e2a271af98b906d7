#pragma once

#include <cstdint>

#include "../runtime/common/axes.h"

namespace tape::kernels {

/// A broadcast of two or three operands to one output: element strides of each operand (0 along repeated axes), with
/// axes merged where possible, innermost last. rank 0 means one element.
struct Broadcast {
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[3][kMaxRank] = {};  // of a, b, c
};

}  // namespace tape::kernels
