#include "autograd/ops/elementwise/exponential.h"

#include <numbers>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/unary_call.h"

namespace tape {
namespace {

using kernels::UnaryKernels;

const Op expm1_op({.name = "expm1", .formula = {.forward = "y{y} = exp x − 1", .backward = {"dx = dy ⊙ (y + 1)"}}});

const Op log1p_op({.name = "log1p", .formula = {.forward = "y{y} = ln(1 + x)", .backward = {"dx = dy / (1 + x)"}}});

const Op exp2_op({.name = "exp2", .formula = {.forward = "y{y} = 2ˣ", .backward = {"dx = dy ⊙ y · ln 2"}}});

const Op log2_op({.name = "log2", .formula = {.forward = "y{y} = log₂ x", .backward = {"dx = dy / (x · ln 2)"}}});

const Op log10_op({.name = "log10", .formula = {.forward = "y{y} = log₁₀ x", .backward = {"dx = dy / (x · ln 10)"}}});

const Op sinh_op({.name = "sinh", .formula = {.forward = "y{y} = sinh x", .backward = {"dx = dy ⊙ cosh x"}}});

const Op cosh_op({.name = "cosh", .formula = {.forward = "y{y} = cosh x", .backward = {"dx = dy ⊙ sinh x"}}});

const Op atanh_op({.name = "atanh", .formula = {.forward = "y{y} = artanh x", .backward = {"dx = dy / (1 − x²)"}}});

}  // namespace

Tensor expm1(const Tensor& x) {
  return apply_unary(expm1_op, &UnaryKernels::expm1, x,
                     [](const BackwardContext& c) { return c.grad() * (c.saved(0) + 1); });
}

Tensor log1p(const Tensor& x) {
  return apply_unary(log1p_op, &UnaryKernels::log1p, x,
                     [](const BackwardContext& c) { return c.grad() / (c.saved(0) + 1); });
}

Tensor exp2(const Tensor& x) {
  return apply_unary(exp2_op, &UnaryKernels::exp2, x,
                     [](const BackwardContext& c) { return c.grad() * (c.saved(0) * std::numbers::ln2); });
}

Tensor log2(const Tensor& x) {
  return apply_unary(log2_op, &UnaryKernels::log2, x,
                     [](const BackwardContext& c) { return c.grad() / (c.saved(0) * std::numbers::ln2); });
}

Tensor log10(const Tensor& x) {
  return apply_unary(log10_op, &UnaryKernels::log10, x,
                     [](const BackwardContext& c) { return c.grad() / (c.saved(0) * std::numbers::ln10); });
}

Tensor sinh(const Tensor& x) {
  return apply_unary(sinh_op, &UnaryKernels::sinh, x,
                     [](const BackwardContext& c) { return c.grad() * cosh(c.saved(0)); });
}

Tensor cosh(const Tensor& x) {
  return apply_unary(cosh_op, &UnaryKernels::cosh, x,
                     [](const BackwardContext& c) { return c.grad() * sinh(c.saved(0)); });
}

Tensor atanh(const Tensor& x) {
  return apply_unary(atanh_op, &UnaryKernels::atanh, x,
                     [](const BackwardContext& c) { return c.grad() / (1 - square(c.saved(0))); });
}

}  // namespace tape
