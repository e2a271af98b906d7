#pragma once

#include "../../tensor.h"

namespace tape {

/// Casts x to another dtype; returns x if nothing changes. Gradients flow between floating dtypes, dx = dy in the dtype
/// of x. A narrower floating dtype rounds to nearest, ties to even (f64 to f16 and bf16 goes through f32); values
/// beyond its range become infinite. To bool, non-zero is true. Floating to integer truncates; NaN, infinity and values
/// out of range are an Error (numeric) `cast: 300 does not fit u8`. Integer to a narrower integer keeps the low bits:
/// -1 is 255 in u8.
Tensor cast(const Tensor& x, DType dtype);

/// Copies x to another device; returns x if it is there. Gradients flow back, dx = dy on the device of x.
Tensor copy_to(const Tensor& x, Device device);

}  // namespace tape
