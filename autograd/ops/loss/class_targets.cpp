#include "autograd/ops/loss/class_targets.h"

#include "autograd/create.h"
#include "autograd/kernels/loss/loss.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "base/error.h"

namespace tape {

Tensor checked_targets(const char* operation, const Shape& scores, DType dtype, const Tensor& target,
                       const Tensor& weight, int64_t ignore_index) {
  if (target.dtype() != i64)
    raise(ErrorKind::dtype, "{}: targets must be i64, got {}", operation, to_string(target.dtype()));
  if (scores.rank() == 0 || !(scores.slice(0, scores.rank() - 1) == target.shape()))
    raise(ErrorKind::shape, "{}: the target must have the shape of the scores without the last axis: {} and {}",
          operation, to_string(scores), to_string(target.shape()));
  const int64_t classes = scores[scores.rank() - 1];
  check_class_weight(operation, classes, dtype, weight);
  return checked_index(operation, "target", target, classes, ignore_index);
}

void check_class_weight(const char* operation, int64_t classes, DType dtype, const Tensor& weight) {
  if (!weight.defined()) return;
  if (weight.dtype() != dtype)
    raise(ErrorKind::dtype, "{}: dtypes differ: {} and {}", operation, to_string(dtype), to_string(weight.dtype()));
  if (!(weight.shape() == Shape{classes}))
    raise(ErrorKind::shape, "{}: weight must be [{}], got {}", operation, classes, to_string(weight.shape()));
}

void check_label_smoothing(const char* operation, double smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1))
    raise(ErrorKind::config, "{}: label_smoothing must be in [0, 1], got {}", operation, smoothing);
}

Tensor target_weight(const Tensor& target, const Tensor& weight, int64_t ignore_index, DType dtype) {
  const Tensor counted = ne(target, ignore_index);
  if (!weight.defined()) return cast(counted, dtype);
  const Tensor safe = where(counted, target, scalar(0, target.options()));
  return masked_fill(reshape(index_select(weight, 0, reshape(safe, {-1})), target.shape()), logical_not(counted), 0);
}

Tensor mean_scale(const Tensor& target_weights) {
  const NoGrad no_grad;
  // f16 and bf16 are summed in f32: they cannot count far.
  const Tensor total = sum(cast(target_weights, compute_dtype(target_weights.dtype())));
  return where(ne(total, 0), 1 / total, scalar(0, total.options()));
}

Tensor mean_scale(const Tensor& target, const Tensor& weight, int64_t ignore_index, DType dtype) {
  if (weight.defined()) return mean_scale(target_weight(target, weight, ignore_index, dtype));
  Tensor scale = empty({}, {compute_dtype(dtype), target.device()});
  run_kernels("mean_scale", target.device(), [&](const KernelCall& at) {
    dispatch_floating("mean_scale", scale.dtype(), [&]<class T>(T) {
      kernels::loss<T>(at).mean_scale(target.numel(), at.in<int64_t>(target), ignore_index, at.out<T>(scale));
    });
  });
  return scale;
}

}  // namespace tape
