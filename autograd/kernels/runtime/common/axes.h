#pragma once

#include <cstdint>

namespace tape::kernels {

// Sizes and strides are passed by value, so that kernels read no arrays of the caller.

inline constexpr int kMaxRank = 8;

/// Sizes of a row-major array.
struct Sizes {
  int rank = 0;
  int64_t values[kMaxRank] = {};
};

/// A strided layout, row-major over sizes: element i is at the sum of i[d] * strides[d]. Strides are in elements and
/// may be 0 or negative.
struct Strided {
  int rank = 0;
  int64_t sizes[kMaxRank] = {}, strides[kMaxRank] = {};
};

}  // namespace tape::kernels
