#include "autograd/ops/elementwise/activation_dtype.h"

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"

namespace tape {

DType activation_dtype(const Tensor& parameter) {
  return parameter.dtype() == f32 && is_autocast_enabled(parameter.device()) ? bf16 : parameter.dtype();
}

Tensor as_activation(const Tensor& x, const Tensor& parameter) {
  return x.dtype() == f32 && activation_dtype(parameter) == bf16 ? cast(x, bf16) : x;
}

Tensor beside_activation(const Tensor& x, const Tensor& activation) {
  return x.dtype() == f32 && activation.dtype() == bf16 && is_autocast_enabled(x.device()) ? cast(x, bf16) : x;
}

}  // namespace tape
