#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Rows of a weight [n, k] in whole numbers of 8 bits: w[i] = scale[i] values[i] + r[i]. A quarter of the weight is
/// read where an estimate of its products will do, and norms and rests bound its error.
struct Int8Rows {
  static constexpr int64_t kBlock = 64;  // values of a row come in whole blocks, zeros behind the last

  int64_t n = 0, k = 0;
  int8_t* values = nullptr;  // [n, stride()]
  float* scale = nullptr;    // [n]
  float* norms = nullptr;    // [n], not below |scale[i] values[i]| nor |w[i]|
  float* rests = nullptr;    // [n], not below |r[i]|; these two are infinite for a row with NaN or infinity

  int64_t stride() const { return (k + kBlock - 1) / kBlock * kBlock; }

  /// Of so many rows' products one lower bound is kept, the highest.
  static constexpr int64_t kGroup = 64;
  int64_t groups() const { return (n + kGroup - 1) / kGroup; }
};

struct Int8RowsKernels {
  void (*round)(const Int8Rows& to, const float* weight);
  /// y[i] = x . w[i] + bias[i] of x [k], as floats give it, is not above upper[i] [n], and the largest y of each group
  /// not below lower[group] [groups()]; infinities where nothing is known. bias may be null.
  void (*bound)(const Int8Rows& rows, const float* x, const float* bias, float* upper, float* lower);
};
TAPE_LEVEL_TABLE(Int8RowsKernels, int8_rows)

}  // namespace tape::kernels
