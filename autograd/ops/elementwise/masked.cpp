#include "autograd/ops/elementwise/masked.h"

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

void check_mask(const char* operation, const Tensor& mask) {
  if (mask.dtype() != boolean)
    raise(ErrorKind::dtype, "{}: the mask must be bool, got {}", operation, to_string(mask.dtype()));
}

}  // namespace

Tensor flat_nonzero(const Tensor& flags) {
  Tensor positions;
  run_kernels("nonzero", flags.device(), [&](const KernelCall& at) {
    const bool* const values = at.in<bool>(flags);
    const auto count =
        at.read_back<int64_t>([&](int64_t* set) { kernels::take(at).count_true(flags.numel(), values, set); });
    positions = empty({count}, {i64, flags.device()});
    kernels::take(at).nonzero(flags.numel(), values, at.out<int64_t>(positions));
  });
  return positions;
}

Tensor nonzero(const Tensor& x) {
  const Tensor flat = flat_nonzero(x.dtype() == boolean ? x.detach() : ne(x.detach(), 0));
  if (x.rank() == 1) return reshape(flat, {flat.numel(), 1});
  Tensor all = empty({flat.numel(), x.rank()}, flat.options());
  run_kernels("nonzero", x.device(), [&](const KernelCall& at) {
    kernels::take(at).unravel(flat.numel(), at.in<int64_t>(flat), sizes_of(x.shape()), at.out<int64_t>(all));
  });
  return all;
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  check_mask("masked_select", mask);
  const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  const Tensor values = x.shape() == shape ? x : expand_to(x, shape);
  const Tensor flags = mask.shape() == shape ? mask : expand_to(mask, shape);
  return index_select(reshape(values, Shape{shape.numel()}), 0, flat_nonzero(flags));
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  check_same_dtype("masked_scatter", x, source);
  if (!broadcasts_to(mask.shape(), x.shape()))
    raise(ErrorKind::shape, "masked_scatter: the mask {} does not broadcast to {}", to_string(mask.shape()),
          to_string(x.shape()));
  const Tensor positions = flat_nonzero(mask.shape() == x.shape() ? mask : expand_to(mask, x.shape()));
  if (positions.numel() > source.numel())
    raise(ErrorKind::shape, "masked_scatter: {} true mask values for {} elements of source {}", positions.numel(),
          source.numel(), to_string(source.shape()));
  const Tensor first = slice(reshape(source, Shape{source.numel()}), 0, {.end = positions.numel()});
  return reshape(index_copy(reshape(x, Shape{x.numel()}), 0, positions, first), x.shape());
}

}  // namespace tape
