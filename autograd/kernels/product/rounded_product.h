#pragma once

#include "rounded_rows.h"

namespace tape::kernels {

/// Products of several rows of x with rounded rows, x in 8 bits as well: sums of whole numbers, exact at every level.
struct RoundedProductKernels {
  /// Of x [m, k]: may[i], of [n], is whether y[r, i] = x[r] . w[i] + bias[i], as floats give it, may be the largest
  /// y[r] of any r. k is at most kLongestRow; bias may be null.
  void (*mark)(const RoundedRows& rows, int64_t m, const float* x, const float* bias, bool* may);
};
TAPE_LEVEL_TABLE(RoundedProductKernels, rounded_product)

/// The sum of so many products of numbers of 8 bits stays below 2^31.
inline constexpr int64_t kLongestRow = 1 << 16;

#if defined(__x86_64__)
namespace vnni {
extern const RoundedProductKernels rounded_product;
}
#endif

/// The kernels of a CPU that multiplies whole numbers of 8 bits at four times the rate of floats, as AVX512-VNNI does.
/// Null on others, where nothing would be gained.
inline const RoundedProductKernels* fast_rounded_product() {
#if defined(__x86_64__)
  if (isa() == Isa::v4 && __builtin_cpu_supports("avx512vnni")) return &vnni::rounded_product;
#endif
  return nullptr;
}

}  // namespace tape::kernels
