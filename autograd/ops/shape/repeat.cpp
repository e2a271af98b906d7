#include "autograd/ops/shape/repeat.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"

namespace tape {

Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis) {
  if (!axis) return repeat_interleave(reshape(x, Shape{x.numel()}), count, 0);
  if (count < 0) raise(ErrorKind::config, "repeat_interleave: the count must not be negative, got {}", count);
  const int64_t along = x.shape().axis(*axis, "repeat_interleave"), size = x.shape()[along];
  const Tensor each = unsqueeze(x, along + 1);
  return reshape(expand_to(each, each.shape().with(along + 1, count)),
                 x.shape().with(along, checked_multiply(size, count, "repeat_interleave")));
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis) {
  if (!axis) return repeat_interleave(reshape(x, Shape{x.numel()}), counts, 0);
  const int64_t along = x.shape().axis(*axis, "repeat_interleave"), size = x.shape()[along];
  if (counts.dtype() != i64)
    raise(ErrorKind::dtype, "repeat_interleave: the counts must be i64, got {}", to_string(counts.dtype()));
  if (counts.shape() != Shape{size})
    raise(ErrorKind::shape, "repeat_interleave: counts {} for axis {} of {}", to_string(counts.shape()), along,
          to_string(x.shape()));
  const std::vector<int64_t> times = counts.to_vector<int64_t>();
  int64_t total = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0)
      raise(ErrorKind::config, "repeat_interleave: counts must not be negative, got {} at position {}", times[i], i);
    total = checked_add(total, times[i], "repeat_interleave");
  }
  std::vector<int64_t> positions;
  positions.reserve(static_cast<size_t>(total));
  for (size_t i = 0; i < times.size(); ++i)
    positions.insert(positions.end(), static_cast<size_t>(times[i]), static_cast<int64_t>(i));
  return index_select(x, along, from_vector(positions).to(x.device()));
}

Tensors meshgrid(const Tensors& vectors, GridIndexing indexing) {
  if (vectors.empty()) raise(ErrorKind::config, "meshgrid: needs at least one vector");
  const size_t rank = vectors.size();
  std::vector<size_t> axes;  // result axis of each vector
  std::vector<int64_t> sizes(rank);
  for (size_t i = 0; i < rank; ++i) {
    check_same_dtype("meshgrid", vectors[0], vectors[i]);
    if (vectors[i].rank() > 1)
      raise(ErrorKind::shape, "meshgrid: vector {} has more than one axis: {}", i, to_string(vectors[i].shape()));
    axes.push_back(indexing == GridIndexing::xy && rank > 1 && i < 2 ? 1 - i : i);
    sizes[axes[i]] = vectors[i].numel();
  }
  Tensors grids;
  for (size_t i = 0; i < rank; ++i) {
    std::vector<int64_t> own(rank, 1);
    own[axes[i]] = vectors[i].numel();
    grids.push_back(expand_to(reshape(vectors[i], Shape(own)), Shape(sizes)));
  }
  return grids;
}

}  // namespace tape
