#pragma once

#include "../../tensor.h"

namespace tape {

// Trigonometric functions other than sin and cos (unary.h), angles in radians. Floating
// dtypes, of which f16 and bf16 are computed in f32; Error (dtype) for others.
Tensor tan(const Tensor& x);   ///< tangent
Tensor asin(const Tensor& x);  ///< in [-pi/2, pi/2]; NaN outside [-1, 1]
Tensor acos(const Tensor& x);  ///< in [0, pi]; NaN outside [-1, 1]
Tensor atan(const Tensor& x);  ///< in [-pi/2, pi/2]
/// Angle of the point (x, y) in (-pi, pi], broadcast. Gradients are 0 where both are 0 and where either is infinite.
/// Operands are promoted as in a + b.
Tensor atan2(const Tensor& y, const Tensor& x);

}  // namespace tape
