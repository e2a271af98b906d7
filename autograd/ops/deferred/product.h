#pragma once

#include "../../kernels/product/common/gemm.h"
#include "calls.h"

namespace tape {

// A linear layer's product is deferred (calls.h):
//
// - If the result is only added to a tensor, as a residual is, the product adds it: the result is neither written nor
//   read.
// - Products of one tensor with several weights of the same size, as those of queries, keys and values, are one launch.

/// The operands and the result of y = x weight^T + bias.
struct LinearOperands {
  const Tensor &x, &weight, &bias;  ///< of one dtype; the bias may be undefined
  Tensor& y;
};
/// Remembers a product of `at`'s device for later. Returns false, having done nothing, if it must run now.
bool defer_product(const KernelCall& at, const kernels::Gemm& gemm, const LinearOperands& operands);

/// out = a + b, of one shape and dtype, if either is the result of a product that has not begun. Otherwise returns
/// false, having done nothing.
bool add_deferred_product(const Tensor& a, const Tensor& b, Tensor& out);

}  // namespace tape
