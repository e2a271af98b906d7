#pragma once

#include <algorithm>
#include <span>

#include "../../create.h"
#include "../../kernels/runtime/common/axes.h"
#include "../../kernels/shape/common/copy.h"
#include "../kernel_call.h"

namespace tape {

/// A shape relative to one axis, [outer, size, inner], as kernels along an axis take it.
struct Extents {
  Extents(const Shape& shape, int64_t axis)
      : outer(shape.slice(0, axis).numel()), size(shape[axis]), inner(shape.slice(axis + 1, shape.rank()).numel()) {}

  int64_t outer, size, inner;
};

/// Converts a shape for kernels.
inline kernels::Sizes sizes_of(const Shape& shape) {
  kernels::Sizes sizes{.rank = static_cast<int>(shape.rank())};
  std::copy(shape.begin(), shape.end(), sizes.values);
  return sizes;
}
/// Combines a shape and strides in elements for kernels; `strides` may be longer than the shape.
inline kernels::Strided strided(const Shape& shape, std::span<const int64_t> strides) {
  kernels::Strided layout{.rank = static_cast<int>(shape.rank())};
  std::copy(shape.begin(), shape.end(), layout.sizes);
  std::copy_n(strides.begin(), shape.rank(), layout.strides);
  return layout;
}

/// A view of x's memory starting at element `offset`.
inline Tensor view(const Tensor& x, int64_t offset, const Shape& shape) {
  const TensorImpl& from = x.impl();
  return Tensor(Ref(new TensorImpl(from.storage, from.offset + offset * size_of(from.dtype), shape, from.dtype)));
}
/// Copies the strided elements of x, starting at element `offset`, to a new tensor of this shape.
inline Tensor take_strided(const Tensor& x, const kernels::Strided& layout, int64_t offset, const Shape& shape) {
  Tensor y = empty(shape, x.options());
  const int64_t size = size_of(x.dtype());
  if (y.numel() > 0)
    run_kernels("copy", x.device(), [&](const KernelCall& at) {
      kernels::copy(at).from_strided(layout, size, static_cast<const char*>(at.in(x)) + offset * size, at.out(y));
    });
  return y;
}
/// Copies x to the strided elements of y, starting at element `offset`.
inline void put_strided(const Tensor& x, const kernels::Strided& layout, int64_t offset, Tensor& y) {
  const int64_t size = size_of(x.dtype());
  if (x.numel() == 0) return;
  run_kernels("copy", x.device(), [&](const KernelCall& at) {
    kernels::copy(at).to_strided(layout, size, at.in(x), static_cast<char*>(at.out(y)) + offset * size);
  });
}

}  // namespace tape
