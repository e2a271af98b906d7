#include "autograd/ops/elementwise/trigonometry.h"

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/binary_call.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/unary_call.h"

namespace tape {
namespace {

using kernels::UnaryKernels;

const UnaryOp tan_op({.name = "tan", .formula = {.forward = "y{y} = tan x", .backward = {"dx = dy ⊙ (1 + y²)"}}},
                     &UnaryKernels::tan, [](Context c) { return c.grad() * (square(c.saved(0)) + 1); });

const UnaryOp asin_op({.name = "asin", .formula = {.forward = "y{y} = arcsin x", .backward = {"dx = dy / √(1 − x²)"}}},
                      &UnaryKernels::asin, [](Context c) { return c.grad() * rsqrt(1 - square(c.saved(0))); });

const UnaryOp acos_op({.name = "acos", .formula = {.forward = "y{y} = arccos x", .backward = {"dx = −dy / √(1 − x²)"}}},
                      &UnaryKernels::acos, [](Context c) { return -(c.grad() * rsqrt(1 - square(c.saved(0)))); });

const UnaryOp atan_op({.name = "atan", .formula = {.forward = "y{y} = arctan x", .backward = {"dx = dy / (1 + x²)"}}},
                      &UnaryKernels::atan, [](Context c) { return c.grad() / (square(c.saved(0)) + 1); });

const Op atan2_op({.name = "atan2",
                   .formula = {.forward = "y{y} = the angle of (b{1}, a{0})",
                               .backward = {"da = dy ⊙ b / (a² + b²)", "db = −dy ⊙ a / (a² + b²)"},
                               .summed = Summed::repeated_axes},
                   .traits = {.has_kinks = true}});

}  // namespace

Tensor tan(const Tensor& x) { return tan_op(x); }
Tensor asin(const Tensor& x) { return asin_op(x); }
Tensor acos(const Tensor& x) { return acos_op(x); }
Tensor atan(const Tensor& x) { return atan_op(x); }
/// The backward pass first divides both operands by the larger magnitude, so that squares neither underflow nor
/// overflow. The magnitude needs no gradient: it would cancel.
Tensor atan2(const Tensor& y, const Tensor& x) {
  if (!same_compute_dtype(y, x) || y.dtype() == i64) {
    const DType dtype = result_type(y, x);
    return promoted(y, x, is_floating(dtype) ? dtype : f32, atan2);
  }
  return record(atan2_op, {y, x}, binary_values("atan2", kernels::Binary::atan2, y, x), {y, x},
                [](const BackwardContext& c) -> Tensors {
                  const Tensor size = maximum(abs(c.saved(0).detach()), abs(c.saved(1).detach()));
                  const Tensor none = logical_or(eq(size, 0), isinf(size)), scale = masked_fill(size, none, 1);
                  const Tensor up = masked_fill(c.saved(0) / scale, none, 1);
                  const Tensor across = masked_fill(c.saved(1) / scale, none, 1);
                  const Tensor squares = square(up) + square(across), dz = c.grad();
                  return {c.needs(0) ? masked_fill(dz * (across / squares / scale), none, 0) : Tensor(),
                          c.needs(1) ? masked_fill(-(dz * (up / squares / scale)), none, 0) : Tensor()};
                });
}

}  // namespace tape
