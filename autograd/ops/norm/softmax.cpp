#include "autograd/ops/norm/softmax.h"

#include <cmath>

#include "autograd/kernels/norm/softmax.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op softmax_op({.name = "softmax",
                     .formula = {.forward = "yⱼ = exp xⱼ / Σₖ exp xₖ along axis {axis} of{y}",
                                 .backward = {"dx = y ⊙ (dy − Σⱼ dyⱼ yⱼ), along axis {axis} of{y}"}},
                     .traits = {.normalizes = true}});

const Op log_softmax_op({.name = "log_softmax",
                         .formula = {.forward = "y{y} = x − ln Σⱼ exp xⱼ along axis {axis}",
                                     .backward = {"dx = dy − softmax(x) ⊙ Σⱼ dyⱼ, along axis {axis} of{y}"}}});

struct Softmax {
  Extents e;
  static constexpr bool saves_inputs = false, saves_outputs = true;

  void forward(const auto& c) const { kernels::softmax(c).softmax(e.outer, e.size, e.inner, c.in(0), c.out()); }
  void backward(const auto& c) const {
    kernels::softmax(c).softmax_backward(e.outer, e.size, e.inner, c.out(), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor y = lines(c.saved(0)), dy = lines(c.grad());
    return {reshape(y * (dy - sum(dy * y, 1, Dims::keep)), c.grad().shape())};
  }
  /// [outer, size, inner]
  Tensor lines(const Tensor& x) const { return reshape(x, Shape{e.outer, e.size, e.inner}); }
};

struct LogSoftmax : Softmax {
  void forward(const auto& c) const { kernels::softmax(c).log_softmax(e.outer, e.size, e.inner, c.in(0), c.out()); }
  void backward(const auto& c) const {
    kernels::softmax(c).log_softmax_backward(e.outer, e.size, e.inner, c.out(), c.dout(), c.din(0));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor y = lines(c.saved(0)), dy = lines(c.grad());
    if (y.numel() == 0) return {c.grad()};
    // Rows in which all values are -inf have no gradient.
    const Tensor nothing = eq(max(y.detach(), 1, Dims::keep), -INFINITY);
    return {reshape(masked_fill(dy - exp(y) * sum(dy, 1, Dims::keep), nothing, 0), c.grad().shape())};
  }
};

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  axis = x.shape().axis(axis, "softmax");
  return fused(softmax_op, {x}, Softmax{Extents(x.shape(), axis)}, {{"axis", axis}});
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  axis = x.shape().axis(axis, "log_softmax");
  return fused(log_softmax_op, {x}, LogSoftmax{{Extents(x.shape(), axis)}}, {{"axis", axis}});
}

}  // namespace tape
