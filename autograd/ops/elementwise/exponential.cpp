#include "autograd/ops/elementwise/exponential.h"

#include <numbers>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/unary_call.h"

namespace tape {
namespace {

using kernels::UnaryKernels;

const UnaryOp expm1_op({.name = "expm1", .formula = {.forward = "y{y} = exp x − 1", .backward = {"dx = dy ⊙ (y + 1)"}}},
                       &UnaryKernels::expm1, [](Context c) { return c.grad() * (c.saved(0) + 1); });

const UnaryOp log1p_op({.name = "log1p", .formula = {.forward = "y{y} = ln(1 + x)", .backward = {"dx = dy / (1 + x)"}}},
                       &UnaryKernels::log1p, [](Context c) { return c.grad() / (c.saved(0) + 1); });

const UnaryOp exp2_op({.name = "exp2", .formula = {.forward = "y{y} = 2ˣ", .backward = {"dx = dy ⊙ y · ln 2"}}},
                      &UnaryKernels::exp2, [](Context c) { return c.grad() * (c.saved(0) * std::numbers::ln2); });

const UnaryOp log2_op({.name = "log2", .formula = {.forward = "y{y} = log₂ x", .backward = {"dx = dy / (x · ln 2)"}}},
                      &UnaryKernels::log2, [](Context c) { return c.grad() / (c.saved(0) * std::numbers::ln2); });

const UnaryOp log10_op({.name = "log10",
                        .formula = {.forward = "y{y} = log₁₀ x", .backward = {"dx = dy / (x · ln 10)"}}},
                       &UnaryKernels::log10, [](Context c) { return c.grad() / (c.saved(0) * std::numbers::ln10); });

const UnaryOp sinh_op({.name = "sinh", .formula = {.forward = "y{y} = sinh x", .backward = {"dx = dy ⊙ cosh x"}}},
                      &UnaryKernels::sinh, [](Context c) { return c.grad() * cosh(c.saved(0)); });

const UnaryOp cosh_op({.name = "cosh", .formula = {.forward = "y{y} = cosh x", .backward = {"dx = dy ⊙ sinh x"}}},
                      &UnaryKernels::cosh, [](Context c) { return c.grad() * sinh(c.saved(0)); });

const UnaryOp atanh_op({.name = "atanh", .formula = {.forward = "y{y} = artanh x", .backward = {"dx = dy / (1 − x²)"}}},
                       &UnaryKernels::atanh, [](Context c) { return c.grad() / (1 - square(c.saved(0))); });

}  // namespace

Tensor expm1(const Tensor& x) { return expm1_op(x); }
Tensor log1p(const Tensor& x) { return log1p_op(x); }
Tensor exp2(const Tensor& x) { return exp2_op(x); }
Tensor log2(const Tensor& x) { return log2_op(x); }
Tensor log10(const Tensor& x) { return log10_op(x); }
Tensor sinh(const Tensor& x) { return sinh_op(x); }
Tensor cosh(const Tensor& x) { return cosh_op(x); }
Tensor atanh(const Tensor& x) { return atanh_op(x); }
}  // namespace tape
