#pragma once

#include "../../product/matmul_precision.h"
#include "../window.h"

namespace tape::kernels {

/// A convolution of x [batch, groups * in_channels, rows.in, columns.in] by weight [groups * out_channels, in_channels,
/// taps] to y [batch, groups * out_channels, rows.out, columns.out]; channels are those of one group.
struct Convolution {
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  Windows windows;
  MatmulPrecision precision = MatmulPrecision::highest;
};

/// y = weight times the windows of x, as columns of blocks that fit the second-level cache, plus bias (null: none).
/// Blocks and the order of sums depend on the sizes alone: the bits are the same for any number of threads.
void convolve(const Convolution& shape, const float* x, const float* weight, const float* bias, float* y);
void convolve(const Convolution& shape, const double* x, const double* weight, const double* bias, double* y);

/// dx: the columns weight^T dy, each value added to where it comes from.
void convolve_input_gradient(const Convolution& shape, const float* weight, const float* dy, float* dx);
void convolve_input_gradient(const Convolution& shape, const double* weight, const double* dy, double* dx);

/// dweight: dy times the columns of x, transposed, summed over the batch.
void convolve_weight_gradient(const Convolution& shape, const float* x, const float* dy, float* dweight);
void convolve_weight_gradient(const Convolution& shape, const double* x, const double* dy, double* dweight);

}  // namespace tape::kernels
