#include "autograd/ops/reduce/counting.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/kernels/reduce/common/unique.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {

Tensor bincount(const Tensor& given, const BincountOptions& options) {
  check_vector("bincount", given);
  const Tensor ids = checked_index("bincount", "id", given, INT64_MAX);
  if (options.minlength < 0)
    raise(ErrorKind::config, "bincount: minlength must not be negative, got {}", options.minlength);
  const int64_t largest = ids.numel() > 0 ? max(ids).item<int64_t>() : -1;
  const int64_t bins = std::max(options.minlength, largest + 1);
  if (options.weights.defined()) {
    if (options.weights.shape() != ids.shape())
      raise(ErrorKind::shape, "bincount: weights {} for ids {}", to_string(options.weights.shape()),
            to_string(ids.shape()));
    return index_add(zeros({bins}, options.weights.options()), 0, ids, options.weights);
  }
  Tensor counts = zeros({bins}, ids.options());
  run_kernels("bincount", ids.device(), [&](const KernelCall& at) {
    kernels::take(at).bincount(ids.numel(), at.in<int64_t>(ids), at.out<int64_t>(counts));
  });
  return counts;
}

namespace {
/// Applies f to x in its compute dtype and casts the values back.
template <class F>
Unique unique_in_compute_dtype(const Tensor& x, const F& f) {
  Unique result = f(cast(x.detach(), compute_dtype(x.dtype())));
  result.values = cast(result.values, x.dtype());
  return result;
}

template <class F>
void dispatch_ordered(DType dtype, const F& f) {
  if (dtype == i64)
    f(int64_t{});
  else
    dispatch_floating("unique", dtype, f);
}
}  // namespace

Unique unique(const Tensor& x) {
  if (compute_dtype(x.dtype()) != x.dtype())
    return unique_in_compute_dtype(x, [](const Tensor& wide) { return unique(wide); });
  const TensorOptions integer(i64, x.device());
  Tensor sorted = empty({x.numel()}, x.options()), counts = empty({x.numel()}, integer);
  Unique result{{}, empty(x.shape(), integer), {}};
  int64_t n = 0;
  run_on_host("unique", x.device(), [&](const KernelCall& at) {
    dispatch_ordered(x.dtype(), [&]<class T>(T) {
      kernels::unique<T>().values(x.numel(), at.in<T>(x), at.out<T>(sorted), at.out<int64_t>(counts),
                                  at.out<int64_t>(result.inverse), &n);
    });
  });
  result.values = slice(sorted, 0, {.end = n}).clone();
  result.counts = slice(counts, 0, {.end = n}).clone();
  return result;
}

Unique unique(const Tensor& x, int64_t axis) {
  axis = x.shape().axis(axis, "unique");
  if (compute_dtype(x.dtype()) != x.dtype())
    return unique_in_compute_dtype(x, [=](const Tensor& wide) { return unique(wide, axis); });
  const int64_t size = x.size(axis);
  if (size > 0 && x.numel() == 0)
    raise(ErrorKind::shape, "unique: the slices along axis {} of {} are empty", axis, to_string(x.shape()));
  const Tensor rows = movedim(x.detach(), axis, 0);
  const TensorOptions integer(i64, x.device());
  Tensor firsts = empty({size}, integer), counts = empty({size}, integer);
  Unique result{{}, empty({size}, integer), {}};
  int64_t n = 0;
  run_on_host("unique", x.device(), [&](const KernelCall& at) {
    dispatch_ordered(x.dtype(), [&]<class T>(T) {
      kernels::unique<T>().rows(size, size > 0 ? x.numel() / size : 0, at.in<T>(rows), at.out<int64_t>(firsts),
                                at.out<int64_t>(counts), at.out<int64_t>(result.inverse), &n);
    });
  });
  result.values = index_select(x.detach(), axis, slice(firsts, 0, {.end = n}));
  result.counts = slice(counts, 0, {.end = n}).clone();
  return result;
}

}  // namespace tape
