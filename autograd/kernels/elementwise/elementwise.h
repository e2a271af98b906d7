#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"
#include "broadcast.h"

namespace tape::kernels {

enum class Binary { add, sub, mul, div, pow, maximum, minimum, remainder, atan2 };
enum class Class { finite, infinite, nan };
enum class Compare { eq, ne, lt, le, gt, ge };

template <class T>
struct ElementwiseKernels {
  /// out = op(a, b), broadcast. out may be a or b if that operand is not repeated. maximum and minimum return NaN if
  /// either operand is; remainder has the sign of b; atan2 is the angle of the point (b, a).
  void (*binary)(Binary op, const Broadcast& plan, const T* a, const T* b, T* out);
  /// out = a op b, broadcast.
  void (*compare)(Compare op, const Broadcast& plan, const T* a, const T* b, bool* out);
  /// out = c ? a : b, broadcast. strides[0] and [1] are those of a and b, strides[2] those of the condition.
  void (*where)(const Broadcast& plan, const bool* c, const T* a, const T* b, T* out);
  /// out = a + w (b - a), broadcast, exact at w = 0 and 1. strides[2] are those of the weight.
  void (*lerp)(const Broadcast& plan, const T* a, const T* b, const T* w, T* out);
  /// out[i] = whether x[i] belongs to the class.
  void (*classify)(Class kind, int64_t n, const T* x, bool* out);
  /// y[i] = x[i] * scale + shift; y may be x.
  void (*affine)(int64_t n, const T* x, double scale, double shift, T* y);
  /// y[i] = pow(x[i], exponent), with exact special cases for 0.5, 1, 2, 3, -1 and -0.5; y may be x.
  void (*pow_scalar)(int64_t n, const T* x, double exponent, T* y);
  /// y[i] = x[i] * *factor; y may be x.
  void (*scale_by)(int64_t n, const T* x, const Sum<T>* factor, T* y);
  /// y[i] += x[i] * scale
  void (*accumulate)(int64_t n, const T* x, double scale, T* y);
};
TAPE_KERNEL_TABLE(ElementwiseKernels, elementwise)
TAPE_BF16_TABLE(ElementwiseKernels, elementwise)  // add, sub, mul, affine, scale_by and accumulate only
}  // namespace tape::kernels
