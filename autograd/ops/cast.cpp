#include "autograd/ops/cast.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/op.h"

namespace tape {
namespace {

std::vector<OpSample> cast_samples() {
  return std::vector<OpSample>{{"through f32",
                                {sample_distinct({2, 2})},
                                [](const Tensors& in) { return cast(cast(in[0], f32), f64); },
                                0x1p-6}};
}

/// y = x in another precision; dx = dy in x's precision. The sample's values and step are exact in f32.
const Op cast_op({.name = "cast",
                  .formula = {.forward = "y{y} = x in {dtype}", .backward = {"dx = dy in the dtype of x"}},
                  .samples = cast_samples});

int64_t whole(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
    raise(ErrorKind::numeric, "cast: {} does not fit i64", value);
  return static_cast<int64_t>(value);
}

template <class From, class To>
void convert(int64_t n, const From* x, To* y) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, bool>)
      y[i] = x[i] != From(0);
    else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, int64_t>)
      y[i] = whole(static_cast<double>(x[i]));
    else
      y[i] = static_cast<To>(x[i]);
  }
}

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = empty(x.shape(), dtype);
  dispatch_all(x.dtype(), [&](auto from) {
    dispatch_all(dtype, [&](auto to) { convert(x.numel(), x.data<decltype(from)>(), y.mutable_data<decltype(to)>()); });
  });
  if (!is_floating(dtype)) return y;
  return record(cast_op, {x}, y, {},
                [from = x.dtype()](const BackwardContext& b) -> Tensors { return {cast(b.grad(), from)}; },
                {{"dtype", to_string(dtype)}});
}

}  // namespace tape
