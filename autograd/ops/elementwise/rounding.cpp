#include "autograd/ops/elementwise/rounding.h"

#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/binary_call.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/unary_call.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

using kernels::UnaryKernels;

/// Their gradient is zero, so the samples multiply by x; `shift` puts a step to x = 0.
Samples step_samples(UnaryFunction f, double shift) {
  return [=] {
    auto call = [=](const Tensors& in) { return in[0] * f(in[0] + shift); };
    return std::vector<OpSample>{{"beside x", {sample_distinct({3, 4})}, call}};
  };
}

std::vector<OpSample> round_samples() {
  auto samples = step_samples(round, 0.5)();
  const auto decimals = [](const Tensors& in) { return in[0] * round(in[0] + 0.5, -1) + in[0] * round(in[0], 1); };
  samples.push_back({"decimals", {sample_uniform({3, 4}, 0.11, 0.14)}, decimals});
  return samples;
}

const Op round_op({.name = "round",
                   .formula = {.forward = "y{y} = the number nearest to x<decimals: with {decimals} digits behind the "
                                          "point| without a fraction>",
                               .backward = {"dx = 0"}},
                   .traits = {.kinks = true},
                   .samples = round_samples});

const Op floor_op({.name = "floor",
                   .formula = {.forward = "y{y} = ⌊x⌋", .backward = {"dx = 0"}},
                   .traits = {.kinks = true},
                   .samples = step_samples(floor, 0)});

const Op ceil_op({.name = "ceil",
                  .formula = {.forward = "y{y} = ⌈x⌉", .backward = {"dx = 0"}},
                  .traits = {.kinks = true},
                  .samples = step_samples(ceil, 0)});

const Op trunc_op({.name = "trunc",
                   .formula = {.forward = "y{y} = x without its fraction", .backward = {"dx = 0"}},
                   .traits = {.kinks = true},
                   .samples = step_samples(trunc, 1)});

const Op frac_op({.name = "frac",
                  .formula = {.forward = "y{y} = the fraction of x", .backward = {"dx = dy"}},
                  .traits = {.kinks = true},
                  .samples = step_samples(frac, 1)});

std::vector<OpSample> remainder_samples() {
  auto call = [](const Tensors& in) { return remainder(in[0], in[1]); };
  // Away from multiples of the divisor, where the remainder jumps.
  const Tensor a = tensor({{-2.3, 0.7, 5.2}, {3.6, -4.1, 1.1}}, f64),
               b = tensor({{0.9, 2.0, 1.5}, {-1.3, 2.4, -3}}, f64);
  return std::vector<OpSample>{{"same shape", {a, b}, call},
                               {"rows", {a, tensor({0.75, 1.6, -2.2}, f64)}, call},
                               {"empty", {sample_normal({0, 3}, 1), sample_normal({1, 3}, 2)}, call}};
}

const Op remainder_op({.name = "remainder",
                       .formula = {.forward = "y{y} = a{0} − b{1} ⊙ ⌊a / b⌋",
                                   .backward = {"da = dy", "db = −dy ⊙ ⌊a / b⌋"},
                                   .summed = Summed::repeated_axes},
                       .traits = {.kinks = true},
                       .samples = remainder_samples});

Tensor no_slope(const BackwardContext& c) { return zeros_like(c.grad()); }

/// round(x 10^d) / 10^d. What 10^d carries beyond all numbers has no digits there, nor has an infinite value; what
/// 10^-d makes 0 is nearest to 0.
Tensor rounded(const Tensor& x, int64_t decimals) {
  const Tensor ten = scalar(std::pow(10.0, std::abs(static_cast<double>(decimals))), x.dtype());
  const Tensor scaled = decimals < 0 ? x : x * ten;
  const Tensor whole = round(decimals < 0 ? x / ten : scaled);
  const Tensor y = decimals < 0 ? where(eq(whole, 0), whole, whole * ten) : whole / ten;
  return where(lt(abs(scaled), std::numeric_limits<double>::infinity()), y, x);
}

}  // namespace

Tensor round(const Tensor& x) { return apply_unary(round_op, &UnaryKernels::round, x, no_slope); }
Tensor round(const Tensor& x, int64_t decimals) {
  if (decimals == 0) return round(x);
  if (is_half(x.dtype())) return in_wide([=](const Tensor& wide) { return round(wide, decimals); }, x);
  check_floating("round", x);
  Tensor y;
  {
    const NoGrad no_grad;
    y = rounded(x.detach(), decimals);
  }
  return record(round_op, {x}, y, {}, [](const BackwardContext& c) -> Tensors { return {no_slope(c)}; },
                {{"decimals", decimals}});
}
Tensor floor(const Tensor& x) { return apply_unary(floor_op, &UnaryKernels::floor, x, no_slope); }
Tensor ceil(const Tensor& x) { return apply_unary(ceil_op, &UnaryKernels::ceil, x, no_slope); }
Tensor trunc(const Tensor& x) { return apply_unary(trunc_op, &UnaryKernels::trunc, x, no_slope); }
Tensor frac(const Tensor& x) {
  return apply_unary(frac_op, &UnaryKernels::frac, x, [](const BackwardContext& c) { return c.grad(); });
}

Tensor remainder(const Tensor& a, const Tensor& b) {
  if (!same_computed(a, b)) {
    const auto again = [](const Tensor& x, const Tensor& y) { return remainder(x, y); };
    return promoted(a, b, result_type(a, b), again);
  }
  if (a.dtype() == i64 && any(eq(b, 0)).item<bool>())
    raise(ErrorKind::config, "remainder: the divisor {} holds a 0", to_string(b.shape()));
  return record(remainder_op, {a, b}, binary_values("remainder", kernels::Binary::remainder, a, b), {a, b},
                [](const BackwardContext& c) -> Tensors {
                  if (!c.needs(1)) return {c.grad(), {}};
                  const Tensor x = c.saved(0).detach(), divisor = c.saved(1).detach(), whole = floor(x / divisor);
                  // A negative quotient that is rounded to 0.
                  const Tensor negative = logical_and(ne(x, 0), logical_xor(lt(x, 0), lt(divisor, 0)));
                  return {c.grad(), -(c.grad() * masked_fill(whole, logical_and(eq(whole, 0), negative), -1))};
                });
}

Tensor remainder(const Tensor& a, const Number& b) { return remainder(a, scalar(b, result_type(a, b))); }

}  // namespace tape
