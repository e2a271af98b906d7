#pragma once

#include <algorithm>
#include <span>

#include "../../kernels/runtime/common/axes.h"
#include "../../shape.h"

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

}  // namespace tape
