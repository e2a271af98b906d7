#pragma once

#include <cstdint>

#include "isa.h"

namespace tape::kernels {

enum class Unary {
  neg,
  abs,
  sign,
  square,
  reciprocal,
  exp,
  log,
  sqrt,
  rsqrt,
  sin,
  cos,
  tanh,
  sigmoid,
  erf,
  relu,
  gelu,
  gelu_tanh,
  silu
};
enum class Binary { add, sub, mul, div, pow, maximum, minimum };
enum class Compare { eq, ne, lt, le, gt, ge };

inline constexpr int kMaxRank = 8;

/// Two or three operands broadcast to one output: element strides of each operand (0 where it is repeated), dimensions
/// already merged wherever neighbours allow it, innermost last. rank 0 means one element.
struct Broadcast {
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[3][kMaxRank] = {};  // of a, b, c
};

template <class T>
struct ElementwiseKernels {
  /// y[i] = op(x[i]); y may be x.
  void (*unary)(Unary op, int64_t n, const T* x, T* y);
  /// dx[i] = dy[i] * op'(x[i]), for tanh and sigmoid from y, for relu, gelu, gelu_tanh and silu from x (the other may
  /// be null); no other op is accepted.
  void (*unary_backward)(Unary op, int64_t n, const T* x, const T* y, const T* dy, T* dx);
  /// out = op(a, b), broadcast; out may be a or b where that operand is not repeated.
  void (*binary)(Binary op, const Broadcast& plan, const T* a, const T* b, T* out);
  void (*compare)(Compare op, const Broadcast& plan, const T* a, const T* b, bool* out);
  /// out = c ? a : b. strides[0] and [1] are a's and b's, strides[2] is the condition's.
  void (*where)(const Broadcast& plan, const bool* c, const T* a, const T* b, T* out);
  /// y[i] = x[i] * scale + shift; y may be x.
  void (*affine)(int64_t n, const T* x, T scale, T shift, T* y);
  /// y[i] = pow(x[i], exponent) with exact roads for 0.5, 1, 2, 3, -1, -0.5; y may be x.
  void (*pow_scalar)(int64_t n, const T* x, T exponent, T* y);
  /// y[i] += x[i] * scale
  void (*accumulate)(int64_t n, const T* x, T scale, T* y);
};
TAPE_KERNEL_TABLE(ElementwiseKernels, elementwise)

// The same for whole numbers (wrapping; division by zero and pow are refused by the caller) and for copies of any type:
// plain loops, compiled once.
void binary_i64(Binary op, const Broadcast& plan, const int64_t* a, const int64_t* b, int64_t* out);
void compare_i64(Compare op, const Broadcast& plan, const int64_t* a, const int64_t* b, bool* out);
void where_bytes(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out);

/// Gathers a strided view into a contiguous buffer: out is row-major over sizes; x is read at offset + sum(i * stride).
/// Strides are in elements and may be 0 or negative. element_size is 1, 4 or 8. Two-dimensional transposes (innermost
/// stride not 1) are done in blocks.
void copy_strided(int rank, const int64_t* sizes, const int64_t* strides, int64_t element_size, const void* x,
                  void* out);
/// The inverse: scatters a contiguous buffer into a strided place.
void copy_into_strided(int rank, const int64_t* sizes, const int64_t* strides, int64_t element_size, const void* x,
                       void* out);
}  // namespace tape::kernels
