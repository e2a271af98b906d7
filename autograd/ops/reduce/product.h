#pragma once

#include "reduce.h"

namespace tape {

/// Product over axes (see reduce.h); i64 and bool give i64. The gradient of each value is the product of the others,
/// correct even if some are 0. The empty product is 1.
Tensor prod(const Tensor& x, const Axes& axes = {}, Dims dims = Dims::drop);

}  // namespace tape
