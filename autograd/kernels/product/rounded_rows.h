#pragma once

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Rows of a weight [n, k] in whole numbers of 8 bits: w[i] = scale[i] values[i] + r[i]. A quarter of the weight is to
/// be read where an estimate of its products will do, and norms and rests say how far off that can be.
struct RoundedRows {
  static constexpr int64_t kBlock = 64;  // values of a row come in whole blocks, zeros behind the last

  int64_t n = 0, k = 0;
  int8_t* values = nullptr;  // [n, stride()]
  float* scale = nullptr;    // [n]
  int32_t* sums = nullptr;   // [n], of the values
  float* norms = nullptr;    // [n], not below |scale[i] values[i]| nor |w[i]|
  float* rests = nullptr;    // [n], not below |r[i]|; these two are infinite for a row with NaN or infinity

  int64_t stride() const { return (k + kBlock - 1) / kBlock * kBlock; }

  /// Of so many rows' products one lower bound is kept, the highest: as many of the largest of all are bounded as there
  /// are groups.
  static constexpr int64_t kGroup = 64;
  int64_t groups() const { return (n + kGroup - 1) / kGroup; }
};

/// What is looked for: rows whose product with x, plus bias, may be among the largest of all.
struct RoundedRowsKernels {
  void (*round)(const RoundedRows& to, const float* weight);
  /// Of x [k]: y[i] = x . w[i] + bias[i], as floats give it, is not above upper[i], and the `top` largest y of all not
  /// below the result (-inf where nothing is known). top is from 1 to rows.groups(); bias may be null.
  float (*bracket)(const RoundedRows& rows, const float* x, const float* bias, int64_t top, float* upper);
};
TAPE_LEVEL_TABLE(RoundedRowsKernels, rounded_rows)

}  // namespace tape::kernels
