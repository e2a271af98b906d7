#include "autograd/ops/elementwise/cast.h"

#include <limits>
#include <type_traits>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// The sample's values and step are exact in f32.
const Op cast_op({.name = "cast",
                  .formula = {.forward = "y{y} = x in {dtype}", .backward = {"dx = dy in the dtype of x"}}});

/// Whether the integral part of a value fits an integer type; false for NaN.
template <class To>
bool fits(double value) {
  // For i32 and u8, the values one past each end are exact doubles; for i64, both ends are.
  if constexpr (std::is_same_v<To, int64_t>) {
    return value >= -0x1p63 && value < 0x1p63;
  } else {
    constexpr double low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return value > low - 1 && value < high + 1;
  }
}

template <class From>
auto widened(From value) {
  if constexpr (std::is_class_v<From>)
    return static_cast<float>(value);  // f16 or bf16
  else
    return value;
}

template <class From, class To>
void convert(int64_t n, const From* x, To* y) {
  if constexpr (std::is_same_v<To, bool>) {
    for (int64_t i = 0; i < n; ++i) y[i] = widened(x[i]) != 0;
  } else {
    if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>)
      for (int64_t i = 0; i < n; ++i)
        if (const auto value = static_cast<double>(widened(x[i])); !fits<To>(value))
          raise(ErrorKind::numeric, "cast: {} does not fit {}", value, to_string(dtype_of<To>));
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(widened(x[i]));
  }
}

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = empty(x.shape(), {dtype, x.device()});
  run_on_host("cast", x.device(), [&](const KernelCall& at) {
    dispatch_all(x.dtype(), [&](auto from) {
      dispatch_all(dtype, [&](auto to) { convert(x.numel(), at.in<decltype(from)>(x), at.out<decltype(to)>(y)); });
    });
  });
  if (!is_floating(dtype)) return y;
  return record(cast_op, {x}, y, {},
                [from = x.dtype()](const BackwardContext& b) -> Tensors { return {cast(b.grad(), from)}; },
                {{"dtype", to_string(dtype)}});
}

Tensor copy_to(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  const Tensor y = empty(x.shape(), {x.dtype(), device});
  copy_bytes(device, y.device_raw(), x.device(), x.device_raw(), x.numel() * size_of(x.dtype()));
  if (!is_floating(x.dtype())) return y;
  return record(cast_op, {x}, y, {},
                [from = x.device()](const BackwardContext& b) -> Tensors { return {copy_to(b.grad(), from)}; },
                {{"dtype", std::string(to_string(x.dtype())) + " on " + to_string(device)}});
}

}  // namespace tape
