#include "autograd/ops/elementwise/cast.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/kernels/elementwise/common/cast.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// The sample's values and step are exact in f32.
const Op cast_op({.name = "cast",
                  .formula = {.forward = "y{y} = x in {dtype}", .backward = {"dx = dy in the dtype of x"}}});

/// The dtypes have the order of the kernels' elements.
kernels::Element element_of(DType dtype) {
  static_assert(static_cast<int>(DType::boolean) == static_cast<int>(kernels::Element::boolean) &&
                static_cast<int>(DType::f16) == static_cast<int>(kernels::Element::f16) &&
                static_cast<int>(DType::f64) == static_cast<int>(kernels::Element::f64));
  return static_cast<kernels::Element>(dtype);
}

/// Refuses floating-point values that no integer of the dtype is near.
void check_fits(const KernelCall& at, const Tensor& x, DType dtype) {
  const ValueCheck fit = {ErrorKind::numeric, [x = x.detach(), dtype](int64_t position, int64_t) {
                            return fmt::format("cast: {} does not fit {}", reshape(x, {x.numel()})[position].item(),
                                               to_string(dtype));
                          }};
  Tensor first = empty({}, {i64, x.device()});
  at.check(fit, [&](int64_t number, kernels::Finding* finding) {
    kernels::casts(at).first_unfit(element_of(x.dtype()), element_of(dtype), x.numel(), at.in(x),
                                   at.out<int64_t>(first));
    kernels::take(at).note_position(at.in<int64_t>(first), number, finding);
  });
}

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = empty(x.shape(), {dtype, x.device()});
  run_kernels("cast", x.device(), [&](const KernelCall& at) {
    if (is_floating(x.dtype()) && !is_floating(dtype) && dtype != boolean) check_fits(at, x, dtype);
    kernels::casts(at).cast(element_of(x.dtype()), element_of(dtype), x.numel(), at.in(x), at.out(y));
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
