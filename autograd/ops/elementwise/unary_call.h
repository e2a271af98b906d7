#pragma once

#include <functional>
#include <vector>

#include "../../create.h"
#include "../../kernels/elementwise/unary.h"
#include "../op.h"
#include "promote.h"

// What the families of functions of one operand share: a row of the kernels' table becomes an operation.
namespace tape {

/// A row of the kernels' table.
using UnaryRow = kernels::UnaryKernel kernels::UnaryKernels::*;
using UnaryFunction = Tensor (*)(const Tensor&);
using Samples = std::function<std::vector<OpSample>()>;

/// dx = dy * f', in one pass of the kernel, and over what was saved where nobody needs it any more.
Tensor unary_gradient(UnaryRow row, const BackwardContext& context);

/// f of values in [low, high).
Samples unary_samples(UnaryFunction f, float low, float high);
/// Away from zero, where the gradient has a kink.
Samples kink_samples(UnaryFunction f);

/// y = f(x) by the kernel's row, which says whether x or y is saved for the gradient. That is the kernel's own where it
/// has one, and `gradient(context)`, made of operations, where it has none or will itself be differentiated.
template <class Gradient>
Tensor apply_unary(const Op& op, UnaryRow row, const Tensor& x, const Gradient& gradient) {
  if (is_half(x.dtype())) return in_f32(x, [&](const Tensor& wide) { return apply_unary(op, row, wide, gradient); });
  const kernels::UnaryKernel& kernel = kernels::unary().*row;
  Tensor y = empty_like(x);
  dispatch_floating(op.name(), x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernel.template loops<T>().forward(x.numel(), x.data<T>(), y.mutable_data<T>());
  });
  const bool fused = kernel.f32.backward != nullptr;
  const auto backward = [=](const BackwardContext& c) -> Tensors {
    return {fused && !c.create_graph() ? unary_gradient(row, c) : gradient(c)};
  };
  if (kernel.derivative_reads == kernels::Reads::nothing) return record(op, {x}, y, {}, backward);
  return record(op, {x}, y, {kernel.derivative_reads == kernels::Reads::x ? x : y}, backward);
}

}  // namespace tape
