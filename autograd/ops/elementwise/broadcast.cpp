#include "autograd/ops/elementwise/broadcast.h"

namespace tape {

std::array<int64_t, Shape::kMaxRank> contiguous_strides(const Shape& shape) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  if (shape.numel() == 0) return strides;
  int64_t stride = 1;
  for (int64_t i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& from, const Shape& to) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  const auto own = contiguous_strides(from);
  const int64_t extra = to.rank() - from.rank();
  for (int64_t i = 0; i < from.rank(); ++i)
    strides[static_cast<size_t>(i + extra)] = from[i] == 1 ? 0 : own[static_cast<size_t>(i)];
  return strides;
}

kernels::Broadcast broadcast_plan(const Shape& out, const Shape& a, const Shape& b, const Shape& c) {
  const std::array strides{broadcast_strides(a, out), broadcast_strides(b, out), broadcast_strides(c, out)};
  kernels::Broadcast plan;
  for (int64_t axis = 0; axis < out.rank(); ++axis) {
    if (out[axis] == 1) continue;
    const int last = plan.rank - 1;
    bool merges = last >= 0;
    for (size_t i = 0; i < 3 && merges; ++i)
      merges = plan.strides[i][last] == strides[i][static_cast<size_t>(axis)] * out[axis];
    const int place = merges ? last : plan.rank++;
    plan.sizes[place] = merges ? plan.sizes[place] * out[axis] : out[axis];
    for (size_t i = 0; i < 3; ++i) plan.strides[i][place] = strides[i][static_cast<size_t>(axis)];
  }
  return plan;
}

}  // namespace tape
