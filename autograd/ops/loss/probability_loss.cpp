#include "autograd/ops/loss/probability_loss.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/kernels/loss/loss.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/activation.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/reduce/reduce.h"

namespace tape {
namespace {

const Op bce_loss_op({.name = "bce_loss",
                      .formula = {.forward = "y{y} = −(t ⊙ ln p + (1 − t) ⊙ ln(1 − p))",
                                  .backward = {"dp = dy ⊙ (p − t) / (p ⊙ (1 − p))", "dt = dy ⊙ (ln(1 − p) − ln p)"}}});

const Op bce_with_logits_loss_op(
    {.name = "bce_with_logits_loss",
     .formula = {.forward = "y{y} = (1 − t) x + <pos_weight:(1 + (w − 1) t) ⊙ >ln(1 + exp −x)<pos_weight:, w the "
                            "weight of positives>",
                 .backward = {"dx = dy ⊙ <pos_weight:((1 + (w − 1) t) ⊙ sigmoid(x) − w t)|(sigmoid(x) − t)>",
                              "dt = dy ⊙ (<pos_weight:(w − 1) ln(1 + exp −x) >− x)"}}});

const Op kl_div_op({.name = "kl_div",
                    .formula = {.forward = "y{y} = <log_target:exp(t) ⊙ (t − x)|t ⊙ (ln t − x)>",
                                .backward = {"dx = −dy ⊙ <log_target:exp(t)|t>",
                                             "dt = dy ⊙ <log_target:exp(t) ⊙ (t − x + 1)|(ln t − x + 1)>"}}});

/// Checks a weight of elementwise losses and detaches it.
Tensor loss_weight(const char* name, const Tensor& x, const Tensor& weight) {
  if (!weight.defined()) return weight;
  check_same_dtype("bce_with_logits_loss", x, weight);
  if (!broadcasts_to(weight.shape(), x.shape()))
    raise(ErrorKind::shape, "bce_with_logits_loss: {} {} does not broadcast to {}", name, to_string(weight.shape()),
          to_string(x.shape()));
  return weight.detach();
}

constexpr double kMinDenominator = 1e-12;  // lower bound of p (1 - p), as in PyTorch

/// max(log p, -100). Masks the argument as well as the result, since the gradient of log at 0 is infinite.
Tensor clamped_log(const Tensor& p) {
  const Tensor tiny = lt(p.detach(), std::exp(-100));
  return masked_fill(log(masked_fill(p, tiny, 1)), tiny, -100);
}

/// log(1 + e^-x) for all x, without softplus()'s default threshold.
Tensor softplus_of_minus(const Tensor& x) { return softplus(-x, {.threshold = INFINITY}); }

/// bce_with_logits_loss with pos_weight w.
Tensor weighted_losses(const Tensor& logits, const Tensor& target, const Tensor& w) {
  const Tensor x = logits.detach(), t = target.detach();
  return record(bce_with_logits_loss_op, {logits, target}, (1 - t) * x + (1 + (w - 1) * t) * softplus_of_minus(x),
                {logits, target},
                [w](const BackwardContext& c) -> Tensors {
                  const Tensor v = c.saved(0), of = c.saved(1), dy = c.grad();
                  return {dy * ((1 + (w - 1) * of) * sigmoid(v) - w * of),
                          c.needs(1) ? dy * ((w - 1) * softplus_of_minus(v) - v) : Tensor()};
                },
                {{"pos_weight", true}});
}

struct BceWithLogits {
  void forward(const auto& c) const { kernels::loss(c).bce_with_logits(c.numel(), c.in(0), c.in(1), c.out()); }
  void backward(const auto& c) const {
    kernels::loss(c).bce_with_logits_backward(c.numel(), c.in(0), c.in(1), c.dout(), c.din(0), c.din(1));
  }
  Tensors gradients(const BackwardContext& c) const {
    const Tensor x = c.saved(0), t = c.saved(1), dy = c.grad();
    return {dy * (sigmoid(x) - t), c.needs(1) ? dy * -x : Tensor()};
  }
};

/// t and log t - x, which is 0 where t is 0: the loss is 0 there for any x.
struct KlTerms {
  Tensor t, difference, nothing;
};
KlTerms kl_terms(const Tensor& x, const Tensor& target, bool log_target) {
  const Tensor t = log_target ? exp(target) : target, nothing = eq(t.detach(), 0);
  const Tensor log_t = log_target ? target : log(masked_fill(t, nothing, 1));
  return {t, masked_fill(log_t - x, nothing, 0), nothing};
}

Tensor reduced_divergence(const Tensor& losses, KlReduction reduction) {
  switch (reduction) {
    case KlReduction::none:
      return losses;
    case KlReduction::sum:
      return sum(losses);
    case KlReduction::batchmean:
      if (losses.rank() == 0) raise(ErrorKind::shape, "kl_div: batchmean needs a first axis, x is []");
      return sum(losses) / static_cast<double>(losses.size(0));
    case KlReduction::mean:
      break;
  }
  return mean(losses);
}

}  // namespace

Tensor bce_loss(const Tensor& given, const Tensor& given_target, Reduction reduction) {
  const auto [probabilities, target] = loss_pair("bce_loss", given, given_target);
  const Tensor outside = logical_or(lt(probabilities, 0), gt(probabilities, 1));
  check_none(ErrorKind::numeric, "bce_loss", outside, "probabilities must be in [0, 1]");
  const auto losses = [](const Tensor& p, const Tensor& t) {
    return record(bce_loss_op, {p, t},
                  -(t.detach() * clamped_log(p.detach()) + (1 - t.detach()) * clamped_log(1 - p.detach())), {p, t},
                  [](const BackwardContext& c) -> Tensors {
                    const Tensor x = c.saved(0), y = c.saved(1), dy = c.grad();
                    return {c.needs(0) ? dy * (x - y) / clamp(x * (1 - x), kMinDenominator, 1) : Tensor(),
                            c.needs(1) ? dy * (clamped_log(1 - x) - clamped_log(x)) : Tensor()};
                  });
  };
  return reduced(in_compute_dtype(losses, probabilities, target), reduction);
}

Tensor bce_with_logits_loss(const Tensor& given, const Tensor& given_target, const BceWithLogitsOptions& options) {
  const auto [logits, target] = loss_pair("bce_with_logits_loss", given, given_target);
  const Tensor weight = loss_weight("weight", logits, options.weight);
  const Tensor w = loss_weight("pos_weight", logits, options.pos_weight);
  const Tensor losses =
      w.defined() ? in_compute_dtype(weighted_losses, logits, target, w)
                  : fused(bce_with_logits_loss_op, {logits, target}, BceWithLogits{}, {{"pos_weight", false}});
  return reduced(weight.defined() ? losses * weight : losses, options.reduction);
}

Tensor kl_div(const Tensor& given, const Tensor& given_target, const KlDivOptions& options) {
  const auto [x, target] = loss_pair("kl_div", given, given_target);
  const bool log_target = options.log_target;
  if (!log_target)
    check_none(ErrorKind::numeric, "kl_div", lt(target, 0), [shape = target.shape()](int64_t) {
      return fmt::format("target {} contains a negative value", to_string(shape));
    });
  const auto losses = [log_target](const Tensor& input, const Tensor& of) {
    const KlTerms terms = kl_terms(input.detach(), of.detach(), log_target);
    return record(kl_div_op, {input, of}, terms.t * terms.difference, {input, of},
                  [log_target](const BackwardContext& c) -> Tensors {
                    const KlTerms saved = kl_terms(c.saved(0), c.saved(1), log_target);
                    const Tensor dx = -(c.grad() * saved.t);
                    if (!c.needs(1)) return {dx, Tensor()};
                    const Tensor slope = saved.difference + 1;
                    return {dx, c.grad() * (log_target ? saved.t * slope : masked_fill(slope, saved.nothing, 0))};
                  },
                  {{"log_target", log_target}});
  };
  return reduced_divergence(in_compute_dtype(losses, x, target), options.reduction);
}

}  // namespace tape
