#pragma once

#include <stdint.h>

/// y [m, n] = x [m, k] weight [n, k]^T + bias + addend for few rows; the others are leading dimensions, that of the
/// addend being y's.
struct SkinnyShape {
  int64_t m, n, k, ldx, ldweight, ldy;
  bool aligned;  // whether all rows of x and weights begin at multiples of 16 bytes
};

/// The operands of up to three such products of one x, which are the kernel's blocks along y.
template <class T>
struct SkinnyOperands {
  const T *weight, *weight1, *weight2;
  const T *bias, *bias1, *bias2;  // or null
  T *y, *y1, *y2;
};
