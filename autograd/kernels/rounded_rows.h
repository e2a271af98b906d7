#pragma once

#include "isa.h"

namespace tape::kernels {

/// Rows of a weight [n, k] in whole numbers of 8 bits: w[i] = scale[i] values[i] + r[i]. A quarter of the weight is to
/// be read where an estimate of its products will do, and bounds says how far off that can be.
struct RoundedRows {
  static constexpr int64_t kBlock = 16;  // values of a row come in whole blocks, zeros behind the last

  int64_t n = 0, k = 0;
  int8_t* values = nullptr;  // [n, stride()]
  float* scale = nullptr;    // [n]
  /// [n]: with c the dot product of x and w[i] as floats give it, in any order, and a that of x and scale[i] values[i],
  /// |c - a| <= |x| bounds[i]. Infinite for a row with NaN or infinity.
  float* bounds = nullptr;

  int64_t stride() const { return (k + kBlock - 1) / kBlock * kBlock; }
};

/// What is looked for: rows whose product with x, plus bias, may be the largest of all.
struct RoundedRowsKernels {
  void (*round)(const RoundedRows& to, const float* weight);
  /// Of x [stride()], with zeros behind k, and its norm: y[i] = x . w[i] + bias[i], as floats give it, is not above
  /// upper[i], and the largest y of all not below the result (-inf where no row has finite bounds). bias may be null.
  float (*bracket)(const RoundedRows& rows, const float* x, float norm, const float* bias, float* upper);
};
TAPE_LEVEL_TABLE(RoundedRowsKernels, rounded_rows)

}  // namespace tape::kernels
