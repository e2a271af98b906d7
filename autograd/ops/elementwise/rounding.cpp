#include "autograd/ops/elementwise/rounding.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/binary_call.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/unary_call.h"
#include "autograd/ops/reduce/reduce.h"

namespace tape {
namespace {

using kernels::UnaryKernels;

Tensor zero_derivative(const BackwardContext& c) { return zeros_like(c.grad()); }

const UnaryOp round_op(
    {.name = "round",
     .formula = {.forward = "y{y} = x rounded to the nearest <decimals:value with {decimals} decimals|integer>",
                 .backward = {"dx = 0"}},
     .traits = {.has_kinks = true}},
    &UnaryKernels::round, zero_derivative);

const UnaryOp floor_op({.name = "floor",
                        .formula = {.forward = "y{y} = ⌊x⌋", .backward = {"dx = 0"}},
                        .traits = {.has_kinks = true}},
                       &UnaryKernels::floor, zero_derivative);

const UnaryOp ceil_op({.name = "ceil",
                       .formula = {.forward = "y{y} = ⌈x⌉", .backward = {"dx = 0"}},
                       .traits = {.has_kinks = true}},
                      &UnaryKernels::ceil, zero_derivative);

const UnaryOp trunc_op({.name = "trunc",
                        .formula = {.forward = "y{y} = x without its fractional part", .backward = {"dx = 0"}},
                        .traits = {.has_kinks = true}},
                       &UnaryKernels::trunc, zero_derivative);

const UnaryOp frac_op({.name = "frac",
                       .formula = {.forward = "y{y} = the fractional part of x", .backward = {"dx = dy"}},
                       .traits = {.has_kinks = true}},
                      &UnaryKernels::frac, [](Context c) { return c.grad(); });

const Op remainder_op({.name = "remainder",
                       .formula = {.forward = "y{y} = a{0} − b{1} ⊙ ⌊a / b⌋",
                                   .backward = {"da = dy", "db = −dy ⊙ ⌊a / b⌋"},
                                   .summed = Summed::repeated_axes},
                       .traits = {.has_kinks = true}});

/// round(x 10^d) / 10^d. Where x 10^d overflows or x is infinite, x has no digits to round; where x 10^d underflows to
/// 0, the result is 0.
Tensor rounded(const Tensor& x, int64_t decimals) {
  const Tensor ten = scalar(std::pow(10.0, std::abs(static_cast<double>(decimals))), x.options());
  const Tensor scaled = decimals < 0 ? x : x * ten;
  const Tensor whole = round(decimals < 0 ? x / ten : scaled);
  const Tensor y = decimals < 0 ? where(eq(whole, 0), whole, whole * ten) : whole / ten;
  return where(lt(abs(scaled), std::numeric_limits<double>::infinity()), y, x);
}

}  // namespace

Tensor round(const Tensor& x) { return round_op(x); }
Tensor round(const Tensor& x, int64_t decimals) {
  if (decimals == 0) return round(x);
  if (is_half(x.dtype())) return in_compute_dtype([=](const Tensor& wide) { return round(wide, decimals); }, x);
  check_floating("round", x);
  return record(round_op, {x}, rounded(x.detach(), decimals), {},
                [](const BackwardContext& c) -> Tensors { return {zero_derivative(c)}; }, {{"decimals", decimals}});
}
Tensor floor(const Tensor& x) { return floor_op(x); }
Tensor ceil(const Tensor& x) { return ceil_op(x); }
Tensor trunc(const Tensor& x) { return trunc_op(x); }
Tensor frac(const Tensor& x) { return frac_op(x); }
Tensor remainder(const Tensor& a, const Tensor& b) {
  if (!same_compute_dtype(a, b)) {
    const auto again = [](const Tensor& x, const Tensor& y) { return remainder(x, y); };
    return promoted(a, b, result_type(a, b), again);
  }
  if (a.dtype() == i64)
    check_none(ErrorKind::config, "remainder", eq(b, 0),
               [shape = b.shape()](int64_t) { return fmt::format("the divisor {} contains a 0", to_string(shape)); });
  return record(remainder_op, {a, b}, binary_values("remainder", kernels::Binary::remainder, a, b), {a, b},
                [](const BackwardContext& c) -> Tensors {
                  if (!c.needs(1)) return {c.grad(), {}};
                  const Tensor x = c.saved(0).detach(), divisor = c.saved(1).detach(), whole = floor(x / divisor);
                  // A negative quotient that was rounded to 0 has floor -1.
                  const Tensor negative = logical_and(ne(x, 0), logical_xor(lt(x, 0), lt(divisor, 0)));
                  return {c.grad(), -(c.grad() * masked_fill(whole, logical_and(eq(whole, 0), negative), -1))};
                });
}

Tensor remainder(const Tensor& a, const Number& b) { return remainder(a, scalar(b, {result_type(a, b), a.device()})); }

}  // namespace tape
