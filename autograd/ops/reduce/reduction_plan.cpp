#include "autograd/ops/reduce/reduction_plan.h"

#include "autograd/ops/shape/shape.h"

namespace tape {

ReductionPlan::ReductionPlan(const char* operation, const Tensor& x, const Axes& reduced_axes) : values(x.detach()) {
  const std::vector<bool> reduced = reduced_axes.mask(x.shape(), operation);
  std::vector<int64_t> kept_sizes, dropped_sizes, order;
  int groups = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool gone = reduced[static_cast<size_t>(i)];
    kept_sizes.push_back(gone ? 1 : x.shape()[i]);
    if (!gone) dropped_sizes.push_back(x.shape()[i]);
    (gone ? axes : order).push_back(i);
    groups += gone && (i == 0 || !reduced[static_cast<size_t>(i - 1)]);
  }
  kept = Shape(kept_sizes);
  dropped = Shape(dropped_sizes);
  moved = groups > 1;
  if (moved) {
    order.insert(order.end(), axes.begin(), axes.end());
    values = permute(values, order);
    outer = dropped.numel();
    for (const int64_t axis : axes) size *= x.shape()[axis];
    return;
  }
  bool before = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool gone = reduced[static_cast<size_t>(i)];
    before = before && !gone;
    (gone ? size : before ? outer : inner) *= x.shape()[i];
  }
}

void ReductionPlan::check_not_empty(const char* operation, const Tensor& x) const {
  if (size == 0 && dropped.numel() > 0)
    raise(ErrorKind::shape, "{}: nothing to reduce in {}", operation, to_string(x.shape()));
}

void ReductionPlan::check_correction(const char* operation, const Tensor& x, int64_t correction) const {
  if (size <= correction)
    raise(ErrorKind::shape, "{}: {} values for correction {} in {}", operation, size, correction, to_string(x.shape()));
}

}  // namespace tape
