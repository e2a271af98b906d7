#pragma once

#include <stdint.h>

/// y [m, n] = x [m, k] weight [n, k]^T + bias, or y += that, for few rows; the others are leading dimensions.
struct SkinnyShape {
  int64_t m, n, k, ldx, ldweight, ldy;
  bool accumulate;
  bool aligned;  // whether all rows of x and weight begin at multiples of 16 bytes
};
