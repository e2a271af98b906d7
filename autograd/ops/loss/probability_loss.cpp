#include "autograd/ops/loss/probability_loss.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/loss/loss.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/activation.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> bce_loss_samples() {
  const auto of = [](const char* label, Reduction reduction) {
    return OpSample{label, {sample_normal({2, 3}, 1), sample_uniform({2, 3}, 0, 1, 2)}, [reduction](const Tensors& in) {
                      return bce_loss(sigmoid(in[0]), in[1], reduction);
                    }};
  };
  return std::vector{of("mean", Reduction::mean), of("sum", Reduction::sum), of("each", Reduction::none)};
}

const Op bce_loss_op({.name = "bce_loss",
                      .formula = {.forward = "y{y} = −(t ⊙ ln p + (1 − t) ⊙ ln(1 − p))",
                                  .backward = {"dp = dy ⊙ (p − t) / (p ⊙ (1 − p))", "dt = dy ⊙ (ln(1 − p) − ln p)"}},
                      .samples = bce_loss_samples});

std::vector<OpSample> bce_with_logits_loss_samples() {
  const auto of = [](const char* label, const BceWithLogitsOptions& options) {
    return OpSample{label, {sample_normal({2, 3}, 1), sample_uniform({2, 3}, 0, 1, 2)}, [options](const Tensors& in) {
                      return bce_with_logits_loss(in[0], in[1], options);
                    }};
  };
  const Tensor classes = sample_uniform({3}, 0.5, 2, 3), rows = sample_uniform({2, 1}, 0.5, 2, 4);
  return std::vector{of("mean", {}), of("sum", {.reduction = Reduction::sum}),
                     of("pos_weight, each", {.pos_weight = classes, .reduction = Reduction::none}),
                     of("both weights", {.weight = rows, .pos_weight = classes})};
}

const Op bce_with_logits_loss_op(
    {.name = "bce_with_logits_loss",
     .formula = {.forward = "y{y} = (1 − t) x + <pos_weight:(1 + (w − 1) t) ⊙ >ln(1 + exp −x)<pos_weight:, w the "
                            "weight of positive ones>",
                 .backward = {"dx = dy ⊙ <pos_weight:((1 + (w − 1) t) ⊙ sigmoid(x) − w t)|(sigmoid(x) − t)>",
                              "dt = dy ⊙ (<pos_weight:(w − 1) ln(1 + exp −x) >− x)"}},
     .samples = bce_with_logits_loss_samples});

std::vector<OpSample> kl_div_samples() {
  const auto of = [](const char* label, const KlDivOptions& options) {
    const Tensor t = options.log_target ? sample_normal({2, 3}, 2) : sample_uniform({2, 3}, 0.1, 1, 2);
    return OpSample{label, {sample_normal({2, 3}, 1), t}, [options](const Tensors& in) {
                      // Away from 0, where the slope is infinite.
                      const Tensor target = options.log_target ? in[1] : square(in[1]) + 0.2;
                      return kl_div(in[0], target, options);
                    }};
  };
  return std::vector{of("mean", {}), of("rows", {.reduction = KlReduction::batchmean}),
                     of("each, of logarithms", {.log_target = true, .reduction = KlReduction::none}),
                     of("sum, of logarithms", {.log_target = true, .reduction = KlReduction::sum})};
}

const Op kl_div_op({.name = "kl_div",
                    .formula = {.forward = "y{y} = <log_target:exp(t) ⊙ (t − x)|t ⊙ (ln t − x)>",
                                .backward = {"dx = −dy ⊙ <log_target:exp(t)|t>",
                                             "dt = dy ⊙ <log_target:exp(t) ⊙ (t − x + 1)|(ln t − x + 1)>"}},
                    .samples = kl_div_samples});

/// A factor of single losses, as a constant.
Tensor loss_weight(const char* name, const Tensor& x, const Tensor& weight) {
  if (!weight.defined()) return weight;
  check_same_dtype("bce_with_logits_loss", x, weight);
  if (!broadcasts_to(weight.shape(), x.shape()))
    raise(ErrorKind::shape, "bce_with_logits_loss: {} {} does not broadcast to {}", name, to_string(weight.shape()),
          to_string(x.shape()));
  return weight.detach();
}

constexpr double kLeastSpread = 1e-12;  // of p (1 - p), as in PyTorch

/// log p, held above -100 by replacing the argument, not the result: the gradient of log at 0 is infinite.
Tensor log_above(const Tensor& p) {
  const Tensor tiny = lt(p.detach(), std::exp(-100));
  return masked_fill(log(masked_fill(p, tiny, 1)), tiny, -100);
}

/// log(1 + e^-x) everywhere: softplus() itself gives x beyond a threshold.
Tensor softplus_of_minus(const Tensor& x) { return softplus(-x, {.threshold = INFINITY}); }

Tensor weighted_losses(const Tensor& x, const Tensor& t, const Tensor& w) {
  return (1 - t) * x + (1 + (w - 1) * t) * softplus_of_minus(x);
}
Tensor plain_losses(const Tensor& x, const Tensor& t) {
  Tensor y = empty_like(x);
  dispatch_floating("bce_with_logits_loss", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::loss<T>().bce_with_logits(x.numel(), x.data<T>(), t.data<T>(), y.mutable_data<T>());
  });
  return y;
}
Tensor plain_slopes(const Tensor& x, const Tensor& t, const Tensor& dy) {
  Tensor dx = empty_like(x);
  dispatch_floating("bce_with_logits_loss", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::loss<T>().bce_with_logits_backward(x.numel(), x.data<T>(), t.data<T>(), dy.data<T>(),
                                                dx.mutable_data<T>());
  });
  return dx;
}

/// t and log t - x, or 0 where t is 0: there the loss is, whatever x.
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

/// dp = dy (p - t) / (p (1 - p)), the denominator held above 1e-12; dt = dy (log(1 - p) - log p).
Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction) {
  check_pair("bce_loss", probabilities, target);
  const Tensor outside = logical_or(lt(probabilities, 0), gt(probabilities, 1));
  if (any(outside).item() != 0) raise(ErrorKind::numeric, "bce_loss: probabilities must be in [0, 1]");
  const Tensor p = probabilities.detach(), t = target.detach();
  const Tensor losses = -(t * log_above(p) + (1 - t) * log_above(1 - p));
  const Tensor recorded = record(bce_loss_op, {probabilities, target}, losses, {probabilities, target},
                                 [](const BackwardContext& c) -> Tensors {
                                   const Tensor x = c.saved(0), y = c.saved(1), dy = c.grad();
                                   return {c.needs(0) ? dy * (x - y) / clamp(x * (1 - x), kLeastSpread, 1) : Tensor(),
                                           c.needs(1) ? dy * (log_above(1 - x) - log_above(x)) : Tensor()};
                                 });
  return reduced(recorded, reduction);
}

/// y = (1 - t) x + l log(1 + e^-x), l = 1 + (w - 1) t; dx = dy (l sigmoid(x) - w t), dt = dy ((w - 1) log(1 + e^-x) -
/// x).
Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target, const BceWithLogitsOptions& options) {
  check_pair("bce_with_logits_loss", logits, target);
  const Tensor weight = loss_weight("weight", logits, options.weight);
  const Tensor w = loss_weight("pos_weight", logits, options.pos_weight);
  const Tensor losses =
      w.defined() ? weighted_losses(logits.detach(), target.detach(), w) : plain_losses(logits, target);
  const Tensor recorded = record(bce_with_logits_loss_op, {logits, target}, losses, {logits, target},
                                 [w](const BackwardContext& c) -> Tensors {
                                   const Tensor x = c.saved(0), t = c.saved(1), dy = c.grad();
                                   Tensor dx, dt;
                                   if (w.defined())
                                     dx = dy * ((1 + (w - 1) * t) * sigmoid(x) - w * t);
                                   else
                                     dx = c.create_graph() ? dy * (sigmoid(x) - t) : plain_slopes(x, t, dy);
                                   if (c.needs(1)) dt = dy * (w.defined() ? (w - 1) * softplus_of_minus(x) - x : -x);
                                   return {dx, dt};
                                 },
                                 {{"pos_weight", w.defined()}});
  return reduced(weight.defined() ? recorded * weight : recorded, options.reduction);
}

/// y = t (log t - x); dx = -dy t, dt = dy (log t - x + 1), times t where the target is log t.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options) {
  check_pair("kl_div", x, target);
  const bool log_target = options.log_target;
  if (!log_target && any(lt(target, 0)).item<bool>())
    raise(ErrorKind::numeric, "kl_div: target {} holds a value below 0", to_string(target.shape()));
  const KlTerms terms = kl_terms(x.detach(), target.detach(), log_target);
  const Tensor losses =
      record(kl_div_op, {x, target}, terms.t * terms.difference, {x, target},
             [log_target](const BackwardContext& c) -> Tensors {
               const KlTerms saved = kl_terms(c.saved(0), c.saved(1), log_target);
               const Tensor dx = -(c.grad() * saved.t);
               if (!c.needs(1)) return {dx, Tensor()};
               const Tensor slope = saved.difference + 1;
               return {dx, c.grad() * (log_target ? saved.t * slope : masked_fill(slope, saved.nothing, 0))};
             },
             {{"log_target", log_target}});
  return reduced_divergence(losses, options.reduction);
}

}  // namespace tape
