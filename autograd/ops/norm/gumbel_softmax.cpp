#include "autograd/ops/norm/gumbel_softmax.h"

#include <cmath>

#include "autograd/distributions.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// The noise is constant, so the gradient is that of softmax(z / τ).
const Op gumbel_softmax_op({.name = "gumbel_softmax",
                            .formula = {.forward = "y{y} = softmax((x + g) / {tau}) along axis {axis}, g Gumbel noise",
                                        .backward = {"dx = y ⊙ (dy − Σⱼ dyⱼ yⱼ) / {tau}, along axis {axis}"}},
                            .traits = {.random = true, .normalizes = true}});

}  // namespace

Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options) {
  return gumbel_softmax(x, options, generator(Stream::sampling));
}

Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options, Generator& stream) {
  const double tau = options.tau;
  check_floating("gumbel_softmax", x);
  if (!(tau > 0) || std::isinf(tau))
    raise(ErrorKind::config, "gumbel_softmax: tau must be above 0 and finite, got {}", tau);
  const int64_t axis = x.shape().axis(options.axis, "gumbel_softmax");
  if (options.hard && x.size(axis) == 0)
    raise(ErrorKind::shape, "gumbel_softmax: hard needs a non-empty axis: x is {}", to_string(x.shape()));
  const Tensor y = softmax((x.detach() + gumbel(x.shape(), x.options(), stream)) / tau, axis);
  Tensor soft = record(gumbel_softmax_op, {x}, y, {y},
                       [=](const BackwardContext& c) -> Tensors {
                         const Tensor p = c.saved(0), dy = c.grad();
                         return {p * (dy - sum(dy * p, axis, Dims::keep)) / tau};
                       },
                       {{"tau", tau}, {"axis", axis}});
  if (!options.hard) return soft;
  // soft - soft.detach() is 0 but carries the gradient.
  return scatter(zeros_like(y), axis, argmax(y, axis, Dims::keep), 1) + (soft - soft.detach());
}

}  // namespace tape
