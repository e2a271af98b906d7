#pragma once

#include "../../tensor.h"

namespace tape {

/// The values of x in another dtype, x itself if nothing changes; gradients flow between the floating types, dx = dy in
/// the dtype of x. A narrower floating type takes the nearest value, of two the even one (f64 to f16 and bf16 by way of
/// f32), and infinity for what is beyond its range. bool takes non-zero as true. A floating value becomes a whole one
/// by truncation; NaN, infinity and values out of range are an Error (numeric) `cast: 300 does not fit u8`. A whole
/// number keeps its lowest bits in a narrower type: -1 is 255 in u8.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace tape
