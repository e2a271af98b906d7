#include "autograd/ops/index/positions.h"

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/check.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

/// Flat index of the first element outside [low, size), or -1.
int64_t first_out_of_range(const char* operation, const Tensor& index, int64_t low, int64_t size) {
  int64_t first = -1;
  run_kernels(operation, index.device(), [&](const KernelCall& at) {
    first = at.read_back<int64_t>([&](int64_t* place) {
      kernels::take(at).first_out_of_range(index.numel(), at.in<int64_t>(index), low, size, place);
    });
  });
  return first;
}

void check_range(const char* operation, const char* what, const Tensor& index, int64_t low, int64_t size) {
  if (index.dtype() != i64)
    raise(ErrorKind::dtype, "{}: the {} must be i64, got {}", operation, what, to_string(index.dtype()));
  const int64_t wrong = first_out_of_range(operation, index, low, size);
  if (wrong < 0) return;
  raise(ErrorKind::index, "{}: {} {} at position {} is outside [{}, {})", operation, what,
        reshape(index.detach(), {index.numel()})[wrong].item<int64_t>(), position_text(index.shape(), wrong), low,
        size);
}

}  // namespace

std::string position_text(const Shape& shape, int64_t flat) {
  if (shape.rank() == 1) return std::to_string(flat);
  return to_string(Shape(shape.unravel(flat)));
}

Tensor wrapped_index(const char* operation, const Tensor& index, int64_t size) {
  if (index.dtype() == i64 && first_out_of_range(operation, index, 0, size) < 0) return index.detach();
  check_range(operation, "index", index, -size, size);
  Tensor wrapped = empty_like(index);
  run_kernels(operation, index.device(), [&](const KernelCall& at) {
    kernels::take(at).wrap_negative(index.numel(), at.in<int64_t>(index), size, at.out<int64_t>(wrapped));
  });
  return wrapped;
}

void check_index(const char* operation, const char* what, const Tensor& index, int64_t size) {
  check_range(operation, what, index, 0, size);
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
