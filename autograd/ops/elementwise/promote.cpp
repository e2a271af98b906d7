#include "autograd/ops/elementwise/promote.h"

#include <cmath>

namespace tape {
namespace {

/// 0 for bool, 1 for integers, 2 for floating dtypes.
int kind_of(DType dtype) { return is_floating(dtype) ? 2 : dtype == boolean ? 0 : 1; }

}  // namespace

bool can_cast(DType from, DType to) { return kind_of(from) <= kind_of(to); }

DType result_type(const Tensor& a, const Tensor& b) {
  const DType x = a.dtype(), y = b.dtype();
  const bool without_axes_a = a.rank() == 0, without_axes_b = b.rank() == 0;
  if (x == y || without_axes_a == without_axes_b) return promote_types(x, y);
  const DType with_axes = without_axes_a ? y : x, without = without_axes_a ? x : y;
  return kind_of(without) > kind_of(with_axes) ? promote_types(x, y) : with_axes;
}

bool detail::divides_by_product(double number, DType dtype) {
  const auto has_normal_reciprocal = [&]<class T>(T) {
    const T value = static_cast<T>(number);
    return std::isnormal(value) && std::isnormal(1 / value);
  };
  if (!(dtype == f64 ? has_normal_reciprocal(double()) : has_normal_reciprocal(float()))) return false;
  int exponent = 0;
  return is_half(dtype) || std::abs(std::frexp(number, &exponent)) == 0.5;
}

DType result_type(const Tensor& x, const Number& number) {
  if (kind_of(number.dtype()) <= kind_of(x.dtype())) return x.dtype();
  return number.dtype() == f64 ? f32 : i64;
}

}  // namespace tape
