#pragma once

#include <array>

#include "../../kernels/elementwise/broadcast.h"
#include "../../tensor.h"

namespace tape {

/// Element strides of a contiguous tensor of this shape; all 0 if it has no elements, so that no offset overflows.
std::array<int64_t, Shape::kMaxRank> contiguous_strides(const Shape& shape);

/// Element strides that broadcast a contiguous tensor of shape `from` to `to`: 0 on repeated axes. `from` must
/// broadcast.
std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& from, const Shape& to);

/// Loop sizes and strides that broadcast up to three operands to `out`; adjacent axes are merged where all operands
/// allow it.
kernels::Broadcast broadcast_plan(const Shape& out, const Shape& a, const Shape& b, const Shape& c = {});

}  // namespace tape
