#pragma once

#include "../tensor.h"

namespace tape {

/// The values of x in another dtype; gradients flow between f32 and f64. bool takes non-zero as true; a floating value
/// becomes i64 by truncation (Error (numeric) for NaN, infinity and values out of range). x itself if nothing changes.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace tape
