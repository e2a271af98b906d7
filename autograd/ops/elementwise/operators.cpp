#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"

// Operators between a tensor and a number (arithmetic.h).
namespace tape {
namespace {

/// f of x and the number as two tensors of one dtype.
template <class F>
Tensor with_tensor(const Tensor& x, const Number& number, DType dtype, const F& f) {
  return f(cast(x, dtype), scalar(number, dtype));
}

}  // namespace

Tensor operator+(const Tensor& x, const Number& s) {
  const DType dtype = result_type(x, s);
  return is_floating(dtype) ? affine(cast(x, dtype), 1, s.value()) : with_tensor(x, s, dtype, add);
}

Tensor operator-(const Tensor& x, const Number& s) {
  const DType dtype = result_type(x, s);
  check_subtraction(x.dtype(), s.dtype());
  if (is_floating(dtype)) return affine(cast(x, dtype), 1, -s.value());
  return with_tensor(x, s, dtype, sub);
}

Tensor operator-(const Number& s, const Tensor& x) {
  const DType dtype = result_type(x, s);
  check_subtraction(s.dtype(), x.dtype());
  if (is_floating(dtype)) return affine(cast(x, dtype), -1, s.value());
  return sub(scalar(s, dtype), cast(x, dtype));
}

Tensor operator*(const Tensor& x, const Number& s) {
  const DType dtype = result_type(x, s);
  return is_floating(dtype) ? affine(cast(x, dtype), s.value(), 0) : with_tensor(x, s, dtype, mul);
}

Tensor operator/(const Tensor& x, const Number& s) {
  if (!is_floating(x.dtype())) return with_tensor(x, s, f32, div);
  return affine(x, 1 / s.value(), 0);
}

Tensor operator/(const Number& s, const Tensor& x) {
  if (!is_floating(x.dtype())) return div(scalar(s), cast(x, f32));
  return affine(reciprocal(x), s.value(), 0);
}

}  // namespace tape
