#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// A weight [n, k] quantized to int8 by row: w[i] = scale[i] values[i] + r[i]. Estimates of its products read a quarter
/// of the memory, and the norms and rests bound their error.
struct Int8Rows {
  static constexpr int64_t kBlock = 64;  // rows are padded with zeros to a multiple of this

  int64_t n = 0, k = 0;
  int8_t* values = nullptr;  // [n, stride()]
  float* scale = nullptr;    // [n]
  float* norms = nullptr;    // [n], at least |scale[i] values[i]| and |w[i]|
  float* rests = nullptr;    // [n], at least |r[i]|; both are infinite for a row with NaN or infinity

  int64_t stride() const { return (k + kBlock - 1) / kBlock * kBlock; }

  /// Number of rows per group; each group has one lower bound, the highest of its rows.
  static constexpr int64_t kGroup = 64;
  int64_t groups() const { return (n + kGroup - 1) / kGroup; }
};

struct Int8RowsKernels {
  void (*round)(const Int8Rows& to, const float* weight);
  /// Bounds y[i] = x . w[i] + bias[i] of x [k] as computed in float: y[i] <= upper[i] [n], and the maximum of each
  /// group is at least lower[group] [groups()]; infinite if unknown. bias may be null.
  void (*bound)(const Int8Rows& rows, const float* x, const float* bias, float* upper, float* lower);
};
TAPE_LEVEL_TABLE(Int8RowsKernels, int8_rows)

}  // namespace tape::kernels
