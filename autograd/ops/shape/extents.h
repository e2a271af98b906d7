#pragma once

#include <algorithm>
#include <span>

#include "../../create.h"
#include "../../kernels/runtime/common/axes.h"
#include "../../kernels/shape/common/copy.h"

namespace tape {

/// A shape seen from one axis: [outer, size, inner], as the kernels along an axis take it.
struct Extents {
  Extents(const Shape& shape, int64_t axis)
      : outer(shape.slice(0, axis).numel()), size(shape[axis]), inner(shape.slice(axis + 1, shape.rank()).numel()) {}

  int64_t outer, size, inner;
};

/// The sizes of all axes, as kernels take them.
inline kernels::Sizes sizes_of(const Shape& shape) {
  kernels::Sizes sizes{.rank = static_cast<int>(shape.rank())};
  std::copy(shape.begin(), shape.end(), sizes.values);
  return sizes;
}
/// A view of this shape with these strides, in elements; strides behind the last axis are not read.
inline kernels::Strided strided(const Shape& shape, std::span<const int64_t> strides) {
  kernels::Strided places{.rank = static_cast<int>(shape.rank())};
  std::copy(shape.begin(), shape.end(), places.sizes);
  std::copy_n(strides.begin(), shape.rank(), places.strides);
  return places;
}

/// The values of x from element `offset` on, in x's memory.
inline Tensor view(const Tensor& x, int64_t offset, const Shape& shape) {
  const TensorImpl& from = x.impl();
  return Tensor(Ref(new TensorImpl(from.storage, from.offset + offset * size_of(from.dtype), shape, from.dtype)));
}
/// The values of x at `places`, counted from element `offset` on: a tensor of this shape.
inline Tensor take_strided(const Tensor& x, const kernels::Strided& places, int64_t offset, const Shape& shape) {
  Tensor y = empty(shape, x.dtype());
  const int64_t size = size_of(x.dtype());
  if (y.numel() > 0)
    kernels::copy().from_strided(places, size, static_cast<const char*>(x.raw()) + offset * size, y.raw());
  return y;
}
/// Copies the values of x to `places` of y, counted from element `offset` on.
inline void put_strided(const Tensor& x, const kernels::Strided& places, int64_t offset, Tensor& y) {
  const int64_t size = size_of(x.dtype());
  if (x.numel() > 0) kernels::copy().into_strided(places, size, x.raw(), static_cast<char*>(y.raw()) + offset * size);
}

}  // namespace tape
