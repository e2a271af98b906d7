#pragma once

#include <array>

#include "../../kernels/elementwise/broadcast.h"
#include "../../tensor.h"

namespace tape {

/// Element strides of a contiguous tensor of this shape; 0 where it has no elements, so that no place overflows.
std::array<int64_t, Shape::kMaxRank> contiguous_strides(const Shape& shape);

/// Element strides with which a contiguous tensor of shape `from` fills `to`: 0 on repeated axes. `from` must
/// broadcast.
std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& from, const Shape& to);

/// How up to three operands fill `out`, with neighbouring axes merged where all operands allow it.
kernels::Broadcast broadcast_plan(const Shape& out, const Shape& a, const Shape& b, const Shape& c = {});

}  // namespace tape
