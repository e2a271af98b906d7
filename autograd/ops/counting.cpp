#include "autograd/ops/counting.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/kernels/distinct.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/index.h"
#include "autograd/ops/positions.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"

namespace tape {

Tensor bincount(const Tensor& ids, const BincountOptions& options) {
  check_vector("bincount", ids);
  check_index("bincount", "id", ids, INT64_MAX);
  if (options.minlength < 0)
    raise(ErrorKind::config, "bincount: minlength must not be negative, got {}", options.minlength);
  const int64_t largest = ids.numel() > 0 ? max(ids).item<int64_t>() : -1;
  const int64_t bins = std::max(options.minlength, largest + 1);
  if (options.weights.defined()) {
    if (options.weights.shape() != ids.shape())
      raise(ErrorKind::shape, "bincount: weights {} for ids {}", to_string(options.weights.shape()),
            to_string(ids.shape()));
    return index_add(zeros({bins}, options.weights.dtype()), 0, ids, options.weights);
  }
  Tensor counts = zeros({bins}, i64);
  kernels::count_ids(ids.numel(), ids.data<int64_t>(), counts.mutable_data<int64_t>());
  return counts;
}

Unique unique(const Tensor& x) {
  Unique result;
  if (const DType computed = computed_in(x.dtype()); computed != x.dtype()) {
    result = unique(cast(x.detach(), computed));
    result.values = cast(result.values, x.dtype());
    return result;
  }
  const auto find = [&](auto zero) {
    using T = decltype(zero);
    Tensor sorted = empty({x.numel()}, x.dtype()), counts = empty({x.numel()}, i64);
    const int64_t n =
        kernels::sorted_distinct(x.numel(), x.data<T>(), sorted.mutable_data<T>(), counts.mutable_data<int64_t>());
    result.inverse = empty(x.shape(), i64);
    kernels::places_in_sorted(x.numel(), x.data<T>(), n, sorted.data<T>(), result.inverse.mutable_data<int64_t>());
    result.values = slice(sorted, 0, {.end = n}).clone();
    result.counts = slice(counts, 0, {.end = n}).clone();
  };
  if (x.dtype() == i64)
    find(int64_t{});
  else
    dispatch_floating("unique", x.dtype(), find);
  return result;
}

}  // namespace tape
