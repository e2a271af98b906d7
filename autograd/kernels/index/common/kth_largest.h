#pragma once

#include <cstdint>

namespace tape::kernels {

/// The k-th largest of n values, none of which is NaN, k from 1 to n; their order changes.
float kth_largest(int64_t n, float* values, int64_t k);

}  // namespace tape::kernels
