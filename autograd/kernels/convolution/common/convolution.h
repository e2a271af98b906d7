#pragma once

#include "../../product/matmul_precision.h"
#include "../../runtime/common/isa.h"
#include "../window.h"

namespace tape::kernels {

/// A convolution of x [batch, groups * in_channels, rows.in, columns.in] by weight [groups * out_channels, in_channels,
/// taps] to y [batch, groups * out_channels, rows.out, columns.out]; channels are those of one group.
struct Convolution {
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  Windows windows;
  MatmulPrecision precision = MatmulPrecision::highest;
};

/// Blocks and the order of sums depend on the sizes alone: the bits are the same for any number of threads.
template <class T>
struct ConvolutionKernels {
  /// y = weight times the windows of x, as columns of blocks that fit the second-level cache, plus bias (null: none).
  void (*forward)(const Convolution& shape, const T* x, const T* weight, const T* bias, T* y);
  /// dx: the columns weight^T dy, each value added to where it comes from. dweight: dy times the columns of x,
  /// transposed, summed over the batch. dbias: the sums of dy. Each may be null when not wanted.
  void (*backward)(const Convolution& shape, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias);
  /// The dweight of each of `samples` convolutions of this shape, whose x and dy lie one after the other.
  void (*weight_gradients)(const Convolution& shape, int64_t samples, const T* x, const T* dy, T* dweights);
};
TAPE_COMMON_KERNEL_TABLE(ConvolutionKernels, convolution)

}  // namespace tape::kernels
