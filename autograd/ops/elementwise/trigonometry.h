#pragma once

#include "../../tensor.h"

namespace tape {

// Trigonometric functions other than sin and cos (unary.h), angles in radians. f32 and f64; Error (dtype) for others.
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);  ///< NaN outside [-1, 1]
Tensor acos(const Tensor& x);  ///< NaN outside [-1, 1]
Tensor atan(const Tensor& x);
/// Angle of the point (x, y) in (-pi, pi], broadcast. Gradients are 0 where both are 0 and where either is infinite.
/// Both have one dtype (Error (dtype)).
Tensor atan2(const Tensor& y, const Tensor& x);

}  // namespace tape
