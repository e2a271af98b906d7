#pragma once

#include "../../create.h"
#include "../../kernels/elementwise/unary.h"
#include "../fused.h"

// What the families of functions of one operand share: a row of the kernels' table becomes an operation.
namespace tape {

/// A row of the kernels' table.
using UnaryRow = kernels::UnaryKernel kernels::UnaryKernels::*;

/// y = f(x) by a row of the kernels' table, which says whether the derivative reads x or y.
template <class Gradient>
struct UnaryCall {
  explicit UnaryCall(UnaryRow of, const Gradient& made) : row(of), gradient(made) {
    const kernels::UnaryKernel& kernel = kernels::unary().*row;
    saves_inputs = kernel.derivative_reads == kernels::Reads::x;
    saves_outputs = kernel.derivative_reads == kernels::Reads::y;
    has_backward = kernel.f32.backward != nullptr;
  }

  UnaryRow row;
  Gradient gradient;
  bool saves_inputs, saves_outputs, has_backward;
  static constexpr bool overwrites = true;

  template <class T>
  void forward(const ForwardCall<T>& c) const {
    loops(c).forward(c.numel(), c.in(0), c.out());
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    loops(c).backward(c.numel(), saves_inputs ? c.in(0) : c.out(), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const { return {gradient(c)}; }

 private:
  template <class T>
  const kernels::UnaryLoops<T>& loops(const kernels::Place<T>&) const {
    return (kernels::unary().*row).template loops<T>();
  }
};

/// y = f(x) by the kernel's row. Its gradient is the kernel's own where it has one, and `gradient(context)`, made of
/// operations, where it has none or will itself be differentiated.
template <class Gradient>
Tensor apply_unary(const Op& op, UnaryRow row, const Tensor& x, const Gradient& gradient) {
  return fused(op, {x}, UnaryCall<std::decay_t<Gradient>>(row, gradient));
}

}  // namespace tape
