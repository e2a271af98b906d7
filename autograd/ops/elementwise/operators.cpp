#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"

// Operators of a tensor and a scalar (arithmetic.h).
namespace tape {
namespace {

/// scale x + shift for floating results, otherwise f of x and the scalar as two tensors of one dtype.
template <class F>
Tensor with_scalar(const Tensor& x, const Number& number, double scale, double shift, const F& f) {
  const DType dtype = result_type(x, number);
  const Tensor same = cast(x, dtype);
  return is_floating(dtype) ? affine(same, scale, shift) : f(same, scalar(number, {dtype, same.device()}));
}

}  // namespace

Tensor operator+(const Tensor& x, const Number& s) { return with_scalar(x, s, 1, s.value(), add); }

Tensor operator-(const Tensor& x, const Number& s) {
  check_subtraction(x.dtype(), s.dtype());
  return with_scalar(x, s, 1, -s.value(), sub);
}

Tensor operator-(const Number& s, const Tensor& x) {
  check_subtraction(s.dtype(), x.dtype());
  return with_scalar(x, s, -1, s.value(), [](const Tensor& same, const Tensor& from) { return sub(from, same); });
}

Tensor operator*(const Tensor& x, const Number& s) { return with_scalar(x, s, s.value(), -0.0, mul); }

Tensor operator/(const Tensor& x, const Number& s) {
  if (!is_floating(x.dtype())) return div(cast(x, f32), scalar(s, {f32, x.device()}));
  if (detail::divides_by_product(s.value(), x.dtype())) return affine(x, 1 / s.value(), -0.0);
  return div(x, scalar(s, x.options()));
}

Tensor operator/(const Number& s, const Tensor& x) {
  if (!is_floating(x.dtype())) return div(scalar(s, {f32, x.device()}), cast(x, f32));
  return affine(reciprocal(x), s.value(), -0.0);
}

}  // namespace tape
