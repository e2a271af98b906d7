#include "optim/clip.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "autograd/kernels/training/optimizer.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/reduce/totals.h"
#include "optim/kernel_updates.h"
#include "optim/optimizer.h"

namespace tape::optim {
namespace {

/// Returns the parameters that have a gradient.
Tensors with_gradient(const char* operation, TensorList parameters) {
  Tensors found;
  std::unordered_set<const TensorImpl*> seen;
  size_t number = 0;
  for (const Tensor& parameter : parameters) {
    const size_t place = number++;
    if (!parameter.grad().defined()) continue;
    if (!seen.insert(parameter.ref().get()).second)
      raise(ErrorKind::config, "{}: {} is given twice", operation, parameter_label(parameter, place));
    found.push_back(parameter);
  }
  return found;
}

void multiply_in_place(Tensors& gradients, double factor) {
  if (gradients.empty()) return;
  run_kernels("clip_grad_norm", gradients[0].device(), [&](const KernelCall& at) {
    UpdatesByDtype<kernels::ScaleUpdate> updates;
    for (Tensor& gradient : gradients)
      dispatch_floating("clip_grad_norm", gradient.dtype(), [&]<class T>(T) {
        updates.of<T>().push_back({gradient.numel(), at.out<T>(gradient)});
      });
    updates.run([&]<class T>(int64_t count, const kernels::ScaleUpdate<T>* of) {
      kernels::optimizer<T>(at).scale(factor, count, of);
    });
  });
}

/// Norm for squares beyond the range of double: gradients are scaled near 1 by a power of two, which is exact.
double careful_norm(const Tensors& gradients) {
  double largest = 0;
  for (const Tensor& gradient : gradients)
    if (gradient.numel() > 0) largest = std::max(largest, max(abs(gradient)).item());
  if (largest == 0) return 0;
  const double scale = std::ldexp(1, -std::clamp(std::ilogb(largest), -1000, 1000));
  double total = 0;
  for (const Tensor& gradient : gradients) total += sum_of_squares("clip_grad_norm", {gradient * scale});
  return std::sqrt(total) / scale;
}

/// Norm of the gradients of `trained`, a subset of all parameters.
double norm_of(const char* operation, TensorList parameters, const Tensors& trained) {
  const NoGrad no_grad;
  Tensors gradients;
  for (const Tensor& parameter : trained) gradients.push_back(parameter.grad());
  const double total = sum_of_squares("clip_grad_norm", gradients);
  const auto bad = [](const Tensor& gradient) { return !all_finite("clip_grad_norm", {gradient}); };
  if (const auto not_finite = std::isfinite(total) ? 0 : std::ranges::count_if(gradients, bad); not_finite > 0) {
    const auto first = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Tensor& p) { return p.grad().defined() && bad(p.grad()); });
    raise(ErrorKind::numeric, "{}: {} of {} gradients contain NaN or infinity, first {}; nothing was changed",
          operation, not_finite, gradients.size(),
          parameter_label(*first, static_cast<size_t>(first - parameters.begin())));
  }
  return std::isnormal(total) ? std::sqrt(total) : careful_norm(gradients);
}

}  // namespace

double grad_norm(TensorList parameters) {
  return norm_of("grad_norm", parameters, with_gradient("grad_norm", parameters));
}

double clip_scale(double norm, double max_norm) {
  if (!(max_norm > 0)) raise(ErrorKind::config, "clip_scale: max_norm must be > 0, got {}", max_norm);
  return std::min(1.0, max_norm / (norm + 1e-6));
}

double clip_grad_norm(TensorList parameters, double max_norm) {
  if (!(max_norm > 0)) raise(ErrorKind::config, "clip_grad_norm: max_norm must be > 0, got {}", max_norm);
  const NoGrad no_grad;
  Tensors trained = with_gradient("clip_grad_norm", parameters);
  const double norm = norm_of("clip_grad_norm", parameters, trained), scale = clip_scale(norm, max_norm);
  if (scale == 1) return norm;
  Tensors alone;
  for (Tensor& parameter : trained) {
    const Tensor gradient = parameter.grad();
    // One handle belongs to the parameter itself.
    if (gradient.is_shared(2))
      parameter.set_grad(gradient * scale);
    else
      alone.push_back(gradient);
  }
  multiply_in_place(alone, scale);
  return norm;
}

void clip_grad_value(TensorList parameters, double limit) {
  if (!(limit > 0)) raise(ErrorKind::config, "clip_grad_value: limit must be > 0, got {}", limit);
  const NoGrad no_grad;
  for (Tensor& parameter : with_gradient("clip_grad_value", parameters))
    parameter.set_grad(clamp(parameter.grad(), -limit, limit));
}

}  // namespace tape::optim
