#pragma once

#include "../../product/matmul_precision.h"
#include "../../runtime/common/isa.h"
#include "../window.h"

namespace tape::kernels {

/// A convolution of x [batch, groups * in_channels, rows.in, columns.in] with weight [groups * out_channels,
/// in_channels, taps], giving y [batch, groups * out_channels, rows.out, columns.out]. Channel counts are per group.
struct Convolution {
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  Windows windows;
  MatmulPrecision precision = MatmulPrecision::highest;
};

/// Blocks and the order of sums depend only on the sizes, so results are bitwise identical for any number of threads.
template <class T>
struct ConvolutionKernels {
  /// y = weight times the windows of x, as blocks of columns that fit in the L2 cache, plus bias (may be null).
  void (*forward)(const Convolution& shape, const T* x, const T* weight, const T* bias, T* y);
  /// dx: the columns weight^T dy, each value added to the element it came from. dweight: dy times the transposed
  /// columns of x, summed over the batch. dbias: the sums of dy. Null gradients are not computed.
  void (*backward)(const Convolution& shape, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias);
  /// The dweight of each of `samples` convolutions of this shape, whose x and dy are consecutive in memory.
  void (*weight_gradients)(const Convolution& shape, int64_t samples, const T* x, const T* dy, T* dweights);
};
TAPE_COMMON_KERNEL_TABLE(ConvolutionKernels, convolution)

}  // namespace tape::kernels
