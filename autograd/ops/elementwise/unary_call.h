#pragma once

#include <utility>

#include "../../create.h"
#include "../../kernels/elementwise/unary.h"
#include "../deferred/dropped_sum.h"
#include "../fused.h"
#include "unary.h"

// Defines a unary operation from an entry of the kernel table.
namespace tape {

using Context = const BackwardContext&;

/// x in [-1000, 1000]. Beyond, slopes of activations have reached their limits, and would be infinity times zero.
inline Tensor within_limits(const Tensor& x) { return clamp(x, -1000, 1000); }

/// y = f(x) from an entry of the kernel table, which states whether the derivative reads x or y. The gradient comes
/// from the kernel, or from `gradient(context)`, made of operations, if the kernel has none or for higher-order
/// differentiation.
class UnaryOp : public Op {
 public:
  using Row = kernels::UnaryKernel kernels::UnaryKernels::*;
  using Gradient = Tensor (*)(Context c);

  UnaryOp(OpDefinition definition, Row row, Gradient gradient)
      : Op(std::move(definition)), row_(row), gradient_(gradient) {}

  Tensor operator()(const Tensor& x) const {
    // Which value the derivative reads is the same on every device.
    const kernels::UnaryKernel& kernel = kernels::unary(kernels::Target{cpu}).*row_;
    return fused(*this, {x},
                 Call{*this, kernel.derivative_reads == kernels::Reads::x, kernel.derivative_reads == kernels::Reads::y,
                      kernel.f32.backward != nullptr});
  }

 private:
  /// Small enough for std::function to hold it without an allocation.
  struct Call {
    const UnaryOp& op;
    bool saves_inputs, saves_outputs, has_backward;
    static constexpr bool reuses_saved = true;

    bool computes_bf16(const kernels::Target& target, Inputs) const { return kernels::has_bf16_kernels(target); }
    template <class T>
    void forward(const ForwardCall<T>& c) const {
      op.loops(c).forward(c.numel(), c.in(0), c.out());
    }
    template <class T>
    void backward(const BackwardCall<T>& c) const {
      const kernels::UnaryLoops<T>& loops = op.loops(c);
      const T* const value = saves_inputs ? c.in(0) : c.out();
      if (loops.backward_dropped)
        if (const auto dropped = deferred_dropout(c.arriving()))
          return loops.backward_dropped(c.numel(), value, c.at().template in<T>(dropped->x), dropped->dropout,
                                        c.din(0));
      loops.backward(c.numel(), value, c.dout(), c.din(0));
    }
    Tensors gradients(Context c) const { return {op.gradient_(c)}; }
  };

  template <class T>
  const auto& loops(const kernels::Place<T>& place) const {
    return (kernels::unary(place).*row_).template loops<T>();
  }

  const Row row_;
  const Gradient gradient_;
};

}  // namespace tape
