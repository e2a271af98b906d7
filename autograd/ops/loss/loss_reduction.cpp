#include "autograd/ops/loss/loss_reduction.h"

#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/scope.h"

namespace tape {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

Tensor loss_operand(const Tensor& x) { return x.dtype() == bf16 && is_autocast_enabled(x.device()) ? cast(x, f32) : x; }

bool reads_bf16_logits(Device device) {
  return kernels::has_bf16_kernels(kernels::Target{device}) && is_autocast_enabled(device) && !Composed::active();
}

LossPair loss_pair(const char* operation, const Tensor& given, const Tensor& given_target) {
  const Tensor x = loss_operand(given), target = loss_operand(given_target);
  check_same_dtype(operation, x, target);
  check_floating(operation, x);
  if (!(x.shape() == target.shape()))
    raise(ErrorKind::shape, "{}: shapes differ: {} and {}", operation, to_string(x.shape()), to_string(target.shape()));
  return {x, target};
}

}  // namespace tape
