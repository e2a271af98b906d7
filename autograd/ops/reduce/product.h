#pragma once

#include "reduce.h"

namespace tape {

/// The product over axes (see reduce.h), of i64 and bool too, as i64. The gradient of each value is the product of the
/// others, also where some are 0. The product of nothing is 1.
Tensor prod(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

}  // namespace tape
