#include "optim/clip.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"

namespace tape::optim {
namespace {

/// Handles of the parameters that have a gradient.
Tensors with_gradient(const char* operation, TensorList parameters) {
  Tensors found;
  std::unordered_set<const TensorImpl*> seen;
  for (const Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    if (!seen.insert(parameter.ref().get()).second)
      raise(ErrorKind::config, "{}: a parameter {} is given twice", operation, to_string(parameter.shape()));
    found.push_back(parameter);
  }
  return found;
}

double sum_of_squares(const Tensor& x) {
  return dispatch_floating("clip_grad_norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return kernels::reduce<T>().sum_of_squares(x.numel(), x.data<T>());
  });
}

/// Where squares leave the range of a double: the gradients are first brought near 1 by a power of two, which is exact.
double careful_norm(const Tensors& parameters) {
  double largest = 0;
  for (const Tensor& parameter : parameters)
    if (parameter.numel() > 0) largest = std::max(largest, max(abs(parameter.grad().detach())).item());
  if (largest == 0) return 0;
  const double scale = std::ldexp(1, -std::clamp(std::ilogb(largest), -1000, 1000));
  double total = 0;
  for (const Tensor& parameter : parameters) total += sum_of_squares(parameter.grad().detach() * scale);
  return std::sqrt(total) / scale;
}

double norm_of(const char* operation, const Tensors& parameters) {
  const NoGrad no_grad;
  double total = 0;
  size_t not_finite = 0;
  for (const Tensor& parameter : parameters) {
    const Tensor gradient = parameter.grad();
    const double squares = sum_of_squares(gradient);
    total += squares;
    if (std::isfinite(squares)) continue;
    not_finite += dispatch_floating(operation, gradient.dtype(), [&](auto zero) {
      using T = decltype(zero);
      return !kernels::reduce<T>().all_finite(gradient.numel(), gradient.data<T>());
    });
  }
  if (not_finite > 0)
    raise(ErrorKind::numeric, "{}: {} of {} gradients hold NaN or infinity; nothing was changed", operation, not_finite,
          parameters.size());
  return std::isnormal(total) ? std::sqrt(total) : careful_norm(parameters);
}

}  // namespace

double grad_norm(TensorList parameters) { return norm_of("grad_norm", with_gradient("grad_norm", parameters)); }

double clip_scale(double norm, double max_norm) {
  if (!(max_norm > 0)) raise(ErrorKind::config, "clip_scale: max_norm must be > 0, got {}", max_norm);
  return std::min(1.0, max_norm / (norm + 1e-6));
}

double clip_grad_norm(TensorList parameters, double max_norm) {
  if (!(max_norm > 0)) raise(ErrorKind::config, "clip_grad_norm: max_norm must be > 0, got {}", max_norm);
  const NoGrad no_grad;
  Tensors trained = with_gradient("clip_grad_norm", parameters);
  const double norm = norm_of("clip_grad_norm", trained), scale = clip_scale(norm, max_norm);
  if (scale == 1) return norm;
  for (Tensor& parameter : trained) {
    Tensor gradient = parameter.grad();
    // One handle is the parameter's own.
    if (gradient.is_shared(2))
      parameter.set_grad(gradient * scale);
    else
      gradient.mul_(scale);
  }
  return norm;
}

void clip_grad_value(TensorList parameters, double limit) {
  if (!(limit > 0)) raise(ErrorKind::config, "clip_grad_value: limit must be > 0, got {}", limit);
  const NoGrad no_grad;
  for (Tensor& parameter : with_gradient("clip_grad_value", parameters))
    parameter.set_grad(clamp(parameter.grad(), -limit, limit));
}

}  // namespace tape::optim
