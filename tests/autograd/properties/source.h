#pragma once

#include <utility>

#include "tests/autograd/properties/property.h"

namespace tape::properties {

inline DType any_dtype(Draw& draw) { return draw.one_of({f32, f32, f64, i64, boolean, f16, bf16, i32, u8}); }
inline Tensor any_values(Draw& draw, const Shape& shape, DType dtype) {
  return is_floating(dtype) ? draw.values(shape, dtype)
                            : draw.whole(shape, dtype, dtype <= u8 ? 0 : -9, dtype == boolean ? 1 : 9);
}

/// A tensor and one of its axes, counted from the front.
struct Source {
  explicit Source(Draw& draw, int64_t min_rank = 0, int64_t max_rank = 4)
      : shape(draw.shape(min_rank, max_rank)),
        dtype(any_dtype(draw)),
        x(any_values(draw, shape, dtype)),
        values(exact(x)) {
    if (shape.rank() > 0) {
      axis = draw.axis(shape);
      front = static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis);
    }
  }
  int64_t size() const { return shape[static_cast<int64_t>(front)]; }
  Case case_of(std::function<Tensor(const Tensors&)> call, Array expected) const {
    return {.inputs = {x}, .call = std::move(call), .expected = std::move(expected), .dtype = dtype, .length = 0};
  }
  Shape shape;
  DType dtype;
  Tensor x;
  Array values;
  int64_t axis = 0;
  size_t front = 0;
};

}  // namespace tape::properties
