#include "autograd/ops/loss/loss.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/loss/loss.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/class_targets.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Op cross_entropy_op(
    {.name = "cross_entropy",
     .formula = {
         .forward = "y{y}ₜ = <label_smoothing:(1−s) ><1:w[target] (|<label_smoothing:(>>logsumexp(x{0}ₜ) − x[t, "
                    "target]<1:)|<label_smoothing:)>><label_smoothing: + s · its mean over all classes, s = "
                    "{label_smoothing}><1:, w{1} the class weights>",
         .backward = {"dx{x} = dy ⊙ <1:<label_smoothing:((1−s) >w[target] (softmax(x) − onehot(target))"
                      "<label_smoothing: + s/V (softmax(x) Σ w − w))>|(softmax(x) − <label_smoothing:(1−s) "
                      "onehot(target) − s/V|onehot(target)>)>",
                      "dw{x} = 0, class weights are constants"}}});

/// The sum of losses times a mean_scale().
Tensor scaled_sum(const Tensor& losses, const Tensor& scale) {
  return in_compute_dtype([&](const Tensor& wide) { return sum(wide) * scale; }, losses);
}

/// -weight[t] log_p[t], 0 where ignored.
Tensor target_losses(const Tensor& log_p, const Tensor& target, const Tensor& target_weights, int64_t ignore_index) {
  const Tensor safe = where(ne(target, ignore_index), target, scalar(0, target.options()));
  const Tensor chosen = squeeze(gather(log_p, -1, unsqueeze(safe, -1)), -1);
  return -(target_weights * masked_fill(chosen, eq(target, ignore_index), 0));
}

struct CrossEntropy {
  Tensor target;
  int64_t classes, ignore_index;
  double smoothing;
  /// The gradient reuses the logits' memory: with a large vocabulary they are the largest tensor of a step.
  static constexpr bool reuses_saved = true;

  std::array<Tensor, 1> constants() const { return {target}; }
  Results<1, 1> results(Inputs in) const {
    const TensorOptions options(compute_dtype(in[0].dtype()), in[0].device());
    return {{empty(target.shape(), options)}, {empty(target.shape(), options)}};
  }
  /// The losses of bf16 logits are then f32.
  bool computes_bf16(const kernels::Target& at, Inputs) const { return reads_bf16_logits(at.device); }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    kernels::loss(c).cross_entropy(target.numel(), classes, c.in(0), c.template constant<int64_t>(0), c.parameter(1),
                                   ignore_index, smoothing, c.template out_as<S>(0), c.template kept_as<S>(0));
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    kernels::loss(c).cross_entropy_backward(target.numel(), classes, c.in(0), c.template constant<int64_t>(0),
                                            c.parameter(1), ignore_index, smoothing, c.template kept_as<S>(0),
                                            c.template dout_as<S>(0), c.din(0));
  }
  Tensor reference(Inputs in) const {
    const Tensor log_p = log_softmax(in[0], -1), &weight = in[1];
    const Tensor weights = target_weight(target, weight, ignore_index, log_p.dtype());
    const Tensor exact = target_losses(log_p, target, weights, ignore_index);
    if (smoothing == 0) return exact;
    const Tensor spread = weight.defined() ? sum(log_p * weight, -1) : sum(log_p, -1);
    const Tensor ignored = eq(target, ignore_index);
    return (1 - smoothing) * exact - smoothing / static_cast<double>(classes) * masked_fill(spread, ignored, 0);
  }
};

/// cross_entropy() for a target that contains the probabilities of all classes.
Tensor cross_entropy_of_probabilities(const Tensor& given_logits, const Tensor& given, const CrossEntropyOptions& o) {
  if (!(given.shape() == given_logits.shape()))
    raise(ErrorKind::dtype, "cross_entropy: targets must be i64, or probabilities in the logits' shape {}; got {} {}",
          to_string(given_logits.shape()), to_string(given.dtype()), to_string(given.shape()));
  const auto [logits, target] = loss_pair("cross_entropy", given_logits, given);
  if (logits.rank() == 0) raise(ErrorKind::shape, "cross_entropy: the logits must have an axis of classes, got []");
  if (o.ignore_index >= 0)
    raise(ErrorKind::config, "cross_entropy: ignore_index {} cannot be used with a target of probabilities",
          o.ignore_index);
  const int64_t classes = logits.size(-1);
  check_class_weight("cross_entropy", classes, logits.dtype(), o.weight);
  const auto loss = [&](const Tensor& x, const Tensor& probabilities) {
    Tensor shares = probabilities;
    if (o.label_smoothing != 0)
      shares = (1 - o.label_smoothing) * shares + o.label_smoothing / static_cast<double>(classes);
    if (o.weight.defined()) shares = shares * o.weight.detach().to(x.dtype());
    const Tensor log_p = log_softmax(x, -1);
    const Tensor impossible = logical_and(eq(shares, 0), eq(log_p, -INFINITY));  // whose product would be NaN
    const Tensor losses = -sum(shares * masked_fill(log_p, impossible, 0), -1);
    if (o.reduction != Reduction::mean) return reduced(losses, o.reduction);
    return sum(losses) / static_cast<double>(std::max<int64_t>(1, losses.numel()));
  };
  return in_compute_dtype(loss, logits, target);
}

}  // namespace

Tensor cross_entropy(const Tensor& given_logits, const Tensor& given, const CrossEntropyOptions& options) {
  check_label_smoothing("cross_entropy", options.label_smoothing);
  if (is_floating(given.dtype())) return cross_entropy_of_probabilities(given_logits, given, options);
  const bool as_is = given_logits.dtype() == bf16 && reads_bf16_logits(given_logits.device());
  const Tensor logits = as_is ? given_logits : loss_operand(given_logits);
  const CrossEntropyOptions& o = options;
  const Tensor weight = o.weight.defined() ? o.weight.detach() : Tensor();
  check_floating("cross_entropy", logits);
  const Tensor target =
      checked_targets("cross_entropy", logits.shape(), as_is ? f32 : logits.dtype(), given, weight, o.ignore_index);
  const Tensor losses = fused(cross_entropy_op, {logits, weight},
                              CrossEntropy{target, logits.size(-1), o.ignore_index, o.label_smoothing},
                              {{"ignore_index", o.ignore_index}, {"label_smoothing", o.label_smoothing}});
  if (o.reduction != Reduction::mean) return reduced(losses, o.reduction);
  return scaled_sum(losses, mean_scale(target, weight, o.ignore_index, losses.dtype()));
}

Tensor nll_loss(const Tensor& given_log_probabilities, const Tensor& given, const NllOptions& options) {
  const Tensor log_probabilities = loss_operand(given_log_probabilities);
  check_floating("nll_loss", log_probabilities);
  const Tensor target = checked_targets("nll_loss", log_probabilities.shape(), log_probabilities.dtype(), given,
                                        options.weight, options.ignore_index);
  const Tensor weights = target_weight(target, options.weight, options.ignore_index, log_probabilities.dtype());
  const Tensor losses = target_losses(log_probabilities, target, weights, options.ignore_index);
  return options.reduction == Reduction::mean ? scaled_sum(losses, mean_scale(weights))
                                              : reduced(losses, options.reduction);
}

}  // namespace tape
