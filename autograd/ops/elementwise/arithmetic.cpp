#include "autograd/ops/elementwise/arithmetic.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/common/integer_ops.h"
#include "autograd/ops/check.h"
#include "autograd/ops/deferred/dropped_sum.h"
#include "autograd/ops/deferred/product.h"
#include "autograd/ops/elementwise/binary_call.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/fused.h"

namespace tape {

void write_binary(const char* operation, kernels::Binary kind, const kernels::Broadcast& plan, const Tensor& a,
                  const Tensor& b, Tensor& out) {
  run_kernels(operation, out.device(), [&](const KernelCall& at) {
    if (out.dtype() == i64) {
      kernels::integer_ops(at).binary(kind, plan, at.in<int64_t>(a), at.in<int64_t>(b), at.out<int64_t>(out));
      return;
    }
    dispatch_with_bf16(operation, out.dtype(), [&]<class T>(T) {
      kernels::elementwise<T>(at).binary(kind, plan, at.in<T>(a), at.in<T>(b), at.out<T>(out));
    });
  });
}

Tensor binary_values(const char* operation, kernels::Binary kind, const Tensor& a, const Tensor& b) {
  TAPE_ASSERT(same_arithmetic_dtype(a, b));
  const Shape shape = broadcast_shapes(operation, a.shape(), b.shape());
  const kernels::Broadcast plan = broadcast_plan(shape, a.shape(), b.shape());
  Tensor out = kind == kernels::Binary::add ? empty_result(shape, a.options()) : empty(shape, a.options());
  const bool deferred =
      kind == kernels::Binary::add && (add_deferred_product(a, b, out) || defer_dropped_sum(a, b, out));
  if (!deferred) write_binary(operation, kind, plan, a, b, out);
  return out;
}

namespace {

using kernels::Binary;

Tensor binary(const Op& op, Binary kind, const Tensor& a, const Tensor& b) {
  return binary_values(op.name(), kind, a, b);
}

const Op add_op({.name = "add",
                 .formula = {.forward = "y{y} = a{0} + b{1}",
                             .backward = {"da = dy", "db = dy"},
                             .summed = Summed::repeated_axes}});

const Op sub_op({.name = "sub",
                 .formula = {.forward = "y{y} = a{0} − b{1}",
                             .backward = {"da = dy", "db = −dy"},
                             .summed = Summed::repeated_axes}});

const Op mul_op({.name = "mul",
                 .formula = {.forward = "y{y} = a{0} ⊙ b{1}",
                             .backward = {"da = dy ⊙ b", "db = dy ⊙ a"},
                             .summed = Summed::repeated_axes},
                 .recompute = [](const Tensors& saved, const Attributes&) { return mul(saved[0], saved[1]); }});

const Op div_op({.name = "div",
                 .formula = {.forward = "y{y} = a{0} / b{1}",
                             .backward = {"da = dy / b", "db = −dy ⊙ a / b²"},
                             .summed = Summed::repeated_axes}});

const Op pow_op({.name = "pow",
                 .formula = {.forward = "y{y} = a{0} ^ b{1}",
                             .backward = {"da = dy ⊙ b ⊙ a^(b−1)", "db = dy ⊙ y ⊙ ln a"},
                             .summed = Summed::repeated_axes}});

const Op maximum_op({.name = "maximum",
                     .formula = {.forward = "y{y} = max(a{0}, b{1})",
                                 .backward = {"da = dy where a > b, dy/2 where equal, else 0",
                                              "db = dy where b > a, dy/2 where equal, else 0"},
                                 .summed = Summed::repeated_axes},
                     .traits = {.has_kinks = true}});

const Op minimum_op({.name = "minimum",
                     .formula = {.forward = "y{y} = min(a{0}, b{1})",
                                 .backward = {"da = dy where a < b, dy/2 where equal, else 0",
                                              "db = dy where b < a, dy/2 where equal, else 0"},
                                 .summed = Summed::repeated_axes},
                     .traits = {.has_kinks = true}});

const Op lerp_op({.name = "lerp",
                  .formula = {.forward = "y{y} = a{0} + w{2} ⊙ (b{1} − a)",
                              .backward = {"da = dy ⊙ (1 − w)", "db = dy ⊙ w", "dw = dy ⊙ (b − a)"},
                              .summed = Summed::repeated_axes}});

const Op affine_op({.name = "affine",
                    .formula = {.forward = "y{y} = {scale} · x<shift: + {shift}>", .backward = {"dx = {scale} · dy"}}});

const Op pow_scalar_op({.name = "pow_scalar",
                        .formula = {.forward = "y{y} = xⁿ, n = {exponent}", .backward = {"dx = dy ⊙ n xⁿ⁻¹"}}});

struct Lerp {
  Shape shape;
  kernels::Broadcast plan;

  Results<1> results(Inputs in) const { return {{empty(shape, in[0].options())}}; }
  void forward(const auto& c) const { kernels::elementwise(c).lerp(plan, c.in(0), c.in(1), c.in(2), c.out()); }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor w = c.saved(2);
    return {c.needs(0) ? c.grad() * (1 - w) : Tensor(), c.needs(1) ? c.grad() * w : Tensor(),
            c.needs(2) ? c.grad() * (c.saved(1) - c.saved(0)) : Tensor()};
  }
};

struct Affine {
  double scale, shift;
  static constexpr bool saves_inputs = false;

  bool computes_bf16(const kernels::Target& target, Inputs) const { return kernels::has_bf16_kernels(target); }
  void forward(const auto& c) const { kernels::elementwise(c).affine(c.numel(), c.in(0), scale, shift, c.out()); }
  Tensors gradients(const BackwardContext& c) const { return {scale == 1 ? c.grad() : affine(c.grad(), scale, -0.0)}; }
};

struct PowScalar {
  double exponent;

  void forward(const auto& c) const { kernels::elementwise(c).pow_scalar(c.numel(), c.in(0), exponent, c.out()); }
  Tensors gradients(const BackwardContext& c) const {
    if (exponent == 0) return {zeros_like(c.grad())};
    return {c.grad() * (exponent * pow(c.saved(0), exponent - 1))};
  }
};

/// Gradient of one operand of a maximum or minimum: 0 where the other was chosen, dy / 2 where they are equal,
/// otherwise dy, including where either is NaN.
Tensor extremum_gradient(const Tensor& dy, const Tensor& other_chosen, const Tensor& equal) {
  return masked_fill(where(equal, dy * 0.5, dy), other_chosen, 0);
}

/// `behind(x, y)` is true where y is chosen over x.
Tensor binary_extremum(const Op& op, Binary kernel, const Tensor& a, const Tensor& b,
                       Tensor (*rejected)(const Tensor& x, const Tensor& y)) {
  return record(op, {a, b}, binary(op, kernel, a, b), {a, b}, [rejected](const BackwardContext& c) -> Tensors {
    const Tensor x = c.saved(0).detach(), y = c.saved(1).detach();
    const Tensor dz = c.grad(), equal = eq(x, y);
    return {c.needs(0) ? extremum_gradient(dz, rejected(x, y), equal) : Tensor(),
            c.needs(1) ? extremum_gradient(dz, rejected(y, x), equal) : Tensor()};
  });
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  if (!same_arithmetic_dtype(a, b)) return promoted(a, b, result_type(a, b), add);
  return record(add_op, {a, b}, binary(add_op, Binary::add, a, b), {}, [](const BackwardContext& c) -> Tensors {
    return {c.grad(), c.grad()};
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (!same_arithmetic_dtype(a, b)) {
    check_subtraction(a.dtype(), b.dtype());
    return promoted(a, b, result_type(a, b), sub);
  }
  return record(sub_op, {a, b}, binary(sub_op, Binary::sub, a, b), {}, [](const BackwardContext& c) -> Tensors {
    return {c.grad(), c.needs(1) ? -c.grad() : Tensor()};
  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (!same_arithmetic_dtype(a, b)) return promoted(a, b, result_type(a, b), mul);
  return record(mul_op, {a, b}, binary(mul_op, Binary::mul, a, b), {a, b}, [](const BackwardContext& c) -> Tensors {
    return {c.needs(0) ? c.grad() * c.saved(1) : Tensor(), c.needs(1) ? c.grad() * c.saved(0) : Tensor()};
  });
}

Tensor div(const Tensor& a, const Tensor& b) {
  if (!same_compute_dtype(a, b) || a.dtype() == i64) {
    const DType dtype = result_type(a, b);
    return promoted(a, b, is_floating(dtype) ? dtype : f32, div);
  }
  return record(div_op, {a, b}, binary(div_op, Binary::div, a, b), {a, b}, [](const BackwardContext& c) -> Tensors {
    const Tensor dy = c.grad(), divisor = c.saved(1);
    // Not (dy / b) * (a / b): dy / b may overflow.
    return {c.needs(0) ? dy / divisor : Tensor(), c.needs(1) ? -(dy * (c.saved(0) / divisor) / divisor) : Tensor()};
  });
}

Tensor pow(const Tensor& a, const Tensor& b) {
  const auto again = [](const Tensor& x, const Tensor& n) { return pow(x, n); };
  if (!same_compute_dtype(a, b)) return promoted(a, b, result_type(a, b), again);
  Tensor y = binary(pow_op, Binary::pow, a, b);
  return record(pow_op, {a, b}, y, {a, b, y}, [](const BackwardContext& c) -> Tensors {
    const Tensor x = c.saved(0), n = c.saved(1), dy = c.grad();
    Tensor dx, dn;
    // For n = 0 the power is constant even at x = 0, where x^(n-1) is infinite.
    if (c.needs(0)) dx = dy * masked_fill(n * pow(x, n - 1), eq(n, 0), 0);
    // 0^n is constant in n for n >= 0, and infinite for n < 0.
    const Tensor constant = logical_and(eq(x, 0), ge(n, 0));
    if (c.needs(1)) dn = dy * masked_fill(c.saved(2) * log(where(constant, scalar(1, x.options()), x)), constant, 0);
    return {dx, dn};
  });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  if (!same_compute_dtype(a, b)) return promoted(a, b, result_type(a, b), maximum);
  return binary_extremum(maximum_op, Binary::maximum, a, b, lt);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  if (!same_compute_dtype(a, b)) return promoted(a, b, result_type(a, b), minimum);
  return binary_extremum(minimum_op, Binary::minimum, a, b, gt);
}

Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight) {
  check_same_dtype("lerp", a, b);
  check_same_dtype("lerp", a, weight);
  const Shape shape = broadcast_shapes("lerp", broadcast_shapes("lerp", a.shape(), b.shape()), weight.shape());
  const kernels::Broadcast plan = broadcast_plan(shape, a.shape(), b.shape(), weight.shape());
  return fused(lerp_op, {a, b, weight}, Lerp{shape, plan});
}

Tensor lerp(const Tensor& a, const Tensor& b, double weight) { return lerp(a, b, scalar(weight, a.options())); }

Tensor affine(const Tensor& x, double scale, double shift) {
  if (is_integral(x.dtype())) {
    if (scale != std::trunc(scale) || shift != std::trunc(shift))
      raise(ErrorKind::dtype, "affine: {} needs integers, got scale {} and shift {}", to_string(x.dtype()), scale,
            shift);
    const TensorOptions integer(i64, x.device());
    return cast(add(mul(cast(x, i64), scalar(scale, integer)), scalar(shift, integer)), x.dtype());
  }
  // A shift of -0 keeps the sign of a product that is 0.
  return fused(affine_op, {x}, Affine{scale, shift}, {{"scale", scale}, {"shift", shift + 0.0}});
}

Tensor pow(const Tensor& x, const Number& power) {
  const DType dtype = result_type(x, power);
  if (!is_floating(dtype)) {
    if (power.value() < 0)
      raise(ErrorKind::config, "pow: {} to the negative power {}; cast to f32 first", to_string(x.dtype()),
            to_string(power));
    return pow(cast(x, dtype), scalar(power, {dtype, x.device()}));
  }
  if (x.dtype() != dtype) return pow(cast(x, dtype), power);
  const double exponent = power.value();
  return fused(pow_scalar_op, {x}, PowScalar{exponent}, {{"exponent", exponent}});
}

}  // namespace tape
