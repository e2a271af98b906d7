#include "autograd/ops/reduce/reduction_plan.h"

#include <utility>

#include "autograd/ops/shape/shape.h"

namespace tape {

ReductionPlan::ReductionPlan(const char* operation, const Shape& x, const Axes& reduced_axes) : from(x), kept(x) {
  const std::vector<bool> reduced = reduced_axes.mask(from, operation);
  std::vector<int64_t> dropped_sizes;
  int groups = 0;
  for (int64_t i = 0; i < from.rank(); ++i) {
    const bool gone = reduced[static_cast<size_t>(i)];
    groups += gone && (axes.empty() || axes.back() != i - 1);
    (gone ? size : groups == 0 ? outer : inner) *= from[i];
    (gone ? axes : order).push_back(i);
    if (gone)
      kept = kept.with(i, 1);
    else
      dropped_sizes.push_back(from[i]);
  }
  dropped = Shape(dropped_sizes);
  if (groups > 1) {
    order.insert(order.end(), axes.begin(), axes.end());
    outer *= std::exchange(inner, 1);
  } else {
    order.clear();
  }
}

void ReductionPlan::check_not_empty(const char* operation) const {
  if (size == 0 && dropped.numel() > 0)
    raise(ErrorKind::shape, "{}: nothing to reduce in {}", operation, to_string(from));
}

void ReductionPlan::check_correction(const char* operation, int64_t correction) const {
  if (size <= correction)
    raise(ErrorKind::shape, "{}: {} values for correction {} in {}", operation, size, correction, to_string(from));
}

Tensor ReductionPlan::ordered(const Tensor& x) const { return order.empty() ? x : permute(x.detach(), order); }

}  // namespace tape
