#pragma once

#include "../../shape.h"

namespace tape {

/// A shape seen from one axis: [outer, size, inner], as the kernels along an axis take it.
struct Extents {
  Extents(const Shape& shape, int64_t axis)
      : outer(shape.slice(0, axis).numel()), size(shape[axis]), inner(shape.slice(axis + 1, shape.rank()).numel()) {}

  int64_t outer, size, inner;
};

}  // namespace tape
