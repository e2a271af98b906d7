#include "autograd/ops/index/positions.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/device_memory.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/check.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

ValueCheck range_check(const char* operation, const char* what, const Shape& shape, int64_t low, int64_t size) {
  return {ErrorKind::index, [=](int64_t position, int64_t value) {
            return fmt::format("{}: {} {} at position {} is outside [{}, {})", operation, what, value,
                               position_text(shape, position), low, size);
          }};
}

Tensor checked_range(const char* operation, const char* what, const Tensor& index, int64_t low, int64_t size,
                     std::optional<int64_t> ignored) {
  if (index.dtype() != i64)
    raise(ErrorKind::dtype, "{}: the {} must be i64, got {}", operation, what, to_string(index.dtype()));
  kernels::IndexRange range = {.lines = 1,
                               .count = index.numel(),
                               .stride = index.numel(),
                               .low = low,
                               .size = size,
                               .ignores = ignored.has_value(),
                               .ignored = ignored.value_or(0)};
  const bool waits = reading_waits(index.device());
  Tensor kept;
  run_kernels(operation, index.device(), [&](const KernelCall& at) {
    const auto check = kernels::take(at).check_index;
    const int64_t* const values = at.in<int64_t>(index);
    if (!waits) {
      // Most indices need no copy.
      kernels::Finding negative;
      range.low = 0;
      check(range, values, nullptr, 1, &negative);
      if (negative.check == 0) return;
      range.low = low;
    }
    if (waits || low < 0) kept = empty(index.shape(), index.options());
    at.check(range_check(operation, what, index.shape(), low, size), [&](int64_t number, kernels::Finding* finding) {
      check(range, values, at.out<int64_t>(kept), number, finding);
    });
  });
  // No place is allowed to be read instead of the wrong ones.
  if (waits && size <= 0 && index.numel() > 0) device_memory::synchronize(index.device());
  return kept.defined() ? kept : index.detach();
}

}  // namespace

std::string position_text(const Shape& shape, int64_t flat) {
  if (shape.rank() == 1) return std::to_string(flat);
  return to_string(Shape(shape.unravel(flat)));
}

Tensor wrapped_index(const char* operation, const Tensor& index, int64_t size) {
  return checked_range(operation, "index", index, -size, size, std::nullopt);
}

Tensor checked_index(const char* operation, const char* what, const Tensor& index, int64_t size,
                     std::optional<int64_t> ignored) {
  return checked_range(operation, what, index, 0, size, ignored);
}

void check_fits(const char* operation, const char* what, const Tensor& part, const Tensor& x, int64_t axis) {
  if (part.rank() == x.rank() && part.shape().with(axis, 0) == x.shape().with(axis, 0)) return;
  raise(ErrorKind::shape, "{}: the {} {} and x {} differ outside axis {}", operation, what, to_string(part.shape()),
        to_string(x.shape()), axis);
}

void check_scattered(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  check_same_dtype(operation, x, source);
  check_fits(operation, "index", index, x, axis);
  if (index.shape() != source.shape())
    raise(ErrorKind::shape, "{}: the index {} and the source {} differ", operation, to_string(index.shape()),
          to_string(source.shape()));
}

Tensor wrapped_slices(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  check_same_dtype(operation, x, source);
  check_vector(operation, index);
  check_fits(operation, "source", source, x, axis);
  if (source.shape()[axis] != index.numel())
    raise(ErrorKind::shape, "{}: {} indices for axis {} of the source {}", operation, index.numel(), axis,
          to_string(source.shape()));
  return wrapped_index(operation, index, x.shape()[axis]);
}

void check_vector(const char* operation, const Tensor& index) {
  if (index.rank() != 1)
    raise(ErrorKind::shape, "{}: the index must have one axis, got {}", operation, to_string(index.shape()));
}

}  // namespace tape
