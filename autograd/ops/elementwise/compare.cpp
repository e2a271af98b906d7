#include "autograd/ops/elementwise/compare.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/elementwise/common/integer_ops.h"
#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

using kernels::Compare;

Tensor compare(const char* name, Compare kind, const Tensor& a, const Tensor& b) {
  if (!same_compute_dtype(a, b)) {
    const DType together = result_type(a, b), dtype = compute_dtype(together);
    const auto brought = [&](const Tensor& x) { return cast(cast(x.detach(), together), dtype); };
    return compare(name, kind, brought(a), brought(b));
  }
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  const kernels::Broadcast plan = broadcast_plan(shape, a.shape(), b.shape());
  Tensor out = empty(shape, {boolean, a.device()});
  run_kernels(name, a.device(), [&](const KernelCall& at) {
    if (a.dtype() == i64) {
      kernels::integer_ops(at).compare(kind, plan, at.in<int64_t>(a), at.in<int64_t>(b), at.out<bool>(out));
      return;
    }
    dispatch_floating(name, a.dtype(), [&]<class T>(T) {
      kernels::elementwise<T>(at).compare(kind, plan, at.in<T>(a), at.in<T>(b), at.out<bool>(out));
    });
  });
  return out;
}

Tensor compare(const char* name, Compare kind, const Tensor& a, const Number& b) {
  // Integers are compared with a floating scalar in f64, which is exact up to 2^53.
  const bool as_f64 = !is_floating(a.dtype()) && b.dtype() == f64;
  const DType dtype = as_f64 ? f64 : is_floating(a.dtype()) ? result_type(a, b) : i64;
  return compare(name, kind, cast(a.detach(), dtype), scalar(b, {dtype, a.device()}));
}

/// isclose() for i64, which doubles, used for the other dtypes, cannot represent exactly.
Tensor integers_close(const Tensor& a, const Tensor& b, const CloseOptions& options) {
  const Shape shape = broadcast_shapes("isclose", a.shape(), b.shape());
  const Tensor left = expand_to(a, shape), right = expand_to(b, shape);
  Tensor close = empty(shape, {boolean, a.device()});
  run_on_host("isclose", a.device(), [&](const KernelCall& at) {
    const int64_t *x = at.in<int64_t>(left), *y = at.in<int64_t>(right);
    bool* const to = at.out<bool>(close);
    for (int64_t i = 0; i < shape.numel(); ++i) {
      // Unsigned, since the difference of two 64-bit integers may need 64 bits.
      const uint64_t larger = static_cast<uint64_t>(std::max(x[i], y[i])),
                     difference = larger - static_cast<uint64_t>(std::min(x[i], y[i]));
      const double size = std::abs(static_cast<double>(y[i]));
      to[i] = difference == 0 || static_cast<double>(difference) <= options.atol + options.rtol * size;
    }
  });
  return close;
}

void check_bool(const char* name, const Tensor& x) {
  if (x.dtype() != boolean) raise(ErrorKind::dtype, "{}: needs bool, got {}", name, to_string(x.dtype()));
}

Tensor classified(kernels::Class kind, const Tensor& x) {
  if (!is_floating(x.dtype())) return full(x.shape(), kind == kernels::Class::finite, {boolean, x.device()});
  if (is_half(x.dtype())) return classified(kind, cast(x.detach(), f32));
  Tensor out = empty(x.shape(), {boolean, x.device()});
  run_kernels("isfinite", x.device(), [&](const KernelCall& at) {
    dispatch_floating("isfinite", x.dtype(), [&]<class T>(T) {
      kernels::elementwise<T>(at).classify(kind, x.numel(), at.in<T>(x), at.out<bool>(out));
    });
  });
  return out;
}

const Op where_op({.name = "where",
                   .formula = {.forward = "y{y} = a{0} where the condition holds, else b{1}",
                               .backward = {"da = dy where the condition holds, else 0",
                                            "db = 0 where the condition holds, else dy"},
                               .summed = Summed::repeated_axes},
                   .traits = {.produces_neg_inf = true}});

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", Compare::eq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", Compare::ne, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", Compare::lt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", Compare::le, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", Compare::gt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", Compare::ge, a, b); }
Tensor eq(const Tensor& a, const Number& b) { return compare("eq", Compare::eq, a, b); }
Tensor ne(const Tensor& a, const Number& b) { return compare("ne", Compare::ne, a, b); }
Tensor lt(const Tensor& a, const Number& b) { return compare("lt", Compare::lt, a, b); }
Tensor le(const Tensor& a, const Number& b) { return compare("le", Compare::le, a, b); }
Tensor gt(const Tensor& a, const Number& b) { return compare("gt", Compare::gt, a, b); }
Tensor ge(const Tensor& a, const Number& b) { return compare("ge", Compare::ge, a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  check_bool("logical_and", a);
  check_bool("logical_and", b);
  return where(a, b, scalar(0, b.options()));
}

Tensor logical_or(const Tensor& a, const Tensor& b) {
  check_bool("logical_or", a);
  check_bool("logical_or", b);
  return where(a, scalar(1, b.options()), b);
}

Tensor logical_xor(const Tensor& a, const Tensor& b) {
  check_bool("logical_xor", a);
  check_bool("logical_xor", b);
  return where(a, logical_not(b), b);
}

Tensor isfinite(const Tensor& x) { return classified(kernels::Class::finite, x); }
Tensor isinf(const Tensor& x) { return classified(kernels::Class::infinite, x); }
Tensor isnan(const Tensor& x) { return classified(kernels::Class::nan, x); }

Tensor isclose(const Tensor& a, const Tensor& b, const CloseOptions& options) {
  check_same_dtype("isclose", a, b);
  if (!(options.rtol >= 0 && options.atol >= 0))
    raise(ErrorKind::config, "isclose: the tolerances must not be negative, got rtol {} and atol {}", options.rtol,
          options.atol);
  if (a.dtype() == i64) return integers_close(a, b, options);
  if (!is_f32_or_f64(a.dtype())) return isclose(cast(a.detach(), f64), cast(b.detach(), f64), options);
  const NoGrad no_grad;
  Tensor close = eq(a, b);
  if (options.equal_nan) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  const Tensor difference = abs(a - b);
  const Tensor within = le(difference, affine(abs(b), options.rtol, options.atol));
  return logical_or(close, logical_and(within, isfinite(difference)));
}

bool allclose(const Tensor& a, const Tensor& b, const CloseOptions& options) {
  return all(isclose(a, b, options)).item<bool>();
}

Tensor logical_not(const Tensor& x) {
  check_bool("logical_not", x);
  return where(x, scalar(0, x.options()), scalar(1, x.options()));
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_bool("where", condition);
  if (a.dtype() != b.dtype()) {
    const DType dtype = result_type(a, b);
    return where(condition, cast(a, dtype), cast(b, dtype));
  }
  const Shape shape = broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const kernels::Broadcast plan = broadcast_plan(shape, a.shape(), b.shape(), condition.shape());
  Tensor out = empty(shape, a.options());
  run_kernels("where", a.device(), [&](const KernelCall& at) {
    if (!is_f32_or_f64(a.dtype())) {
      kernels::integer_ops(at).where(plan, size_of(a.dtype()), at.in<bool>(condition), at.in(a), at.in(b), at.out(out));
      return;
    }
    dispatch_floating("where", a.dtype(), [&]<class T>(T) {
      kernels::elementwise<T>(at).where(plan, at.in<bool>(condition), at.in<T>(a), at.in<T>(b), at.out<T>(out));
    });
  });
  return record(where_op, {a, b}, out, {condition}, [](const BackwardContext& c) -> Tensors {
    const Tensor chosen = c.saved(0), dy = c.grad(), zero = scalar(0, dy.options());
    return {c.needs(0) ? where(chosen, dy, zero) : Tensor(), c.needs(1) ? where(chosen, zero, dy) : Tensor()};
  });
}

Tensor where(const Tensor& condition, const Tensor& a, const Number& b) {
  return where(condition, a, scalar(b, {result_type(a, b), a.device()}));
}
Tensor where(const Tensor& condition, const Number& a, const Tensor& b) {
  return where(condition, scalar(a, {result_type(b, a), b.device()}), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Number& value) {
  check_bool("masked_fill", mask);
  if (!broadcasts_to(mask.shape(), x.shape()))
    raise(ErrorKind::shape, "masked_fill: the mask {} does not broadcast to {}", to_string(mask.shape()),
          to_string(x.shape()));
  return where(mask, scalar(value, x.options()), x);
}

}  // namespace tape
