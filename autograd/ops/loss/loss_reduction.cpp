#include "autograd/ops/loss/loss_reduction.h"

#include "autograd/ops/check.h"
#include "autograd/ops/reduce/reduce.h"

namespace tape {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

void check_pair(const char* operation, const Tensor& x, const Tensor& target) {
  check_same_dtype(operation, x, target);
  check_floating(operation, x);
  if (!(x.shape() == target.shape()))
    raise(ErrorKind::shape, "{}: shapes differ: {} and {}", operation, to_string(x.shape()), to_string(target.shape()));
}

}  // namespace tape
