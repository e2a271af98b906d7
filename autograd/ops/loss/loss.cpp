#include "autograd/ops/loss/loss.h"

#include "autograd/create.h"
#include "autograd/kernels/index/index.h"
#include "autograd/kernels/loss/loss.h"
#include "autograd/ops/check.h"
#include "autograd/ops/data_or_null.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/class_targets.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> cross_entropy_samples() {
  const Tensor target = tensor({{1, 0, 4}, {2, 2, 3}}, i64);
  const auto with = [target](const char* label, const CrossEntropyOptions& options) {
    return OpSample{
        label, {sample_normal({2, 3, 5})}, [=](const Tensors& in) { return cross_entropy(in[0], target, options); }};
  };
  const Tensor weight = sample_uniform({5}, 0.5, 2);
  return std::vector{with("mean", {}),
                     with("sum", {.reduction = Reduction::sum}),
                     with("each", {.reduction = Reduction::none}),
                     with("ignored", {.ignore_index = 2}),
                     with("smoothed", {.ignore_index = 0, .label_smoothing = 0.1}),
                     with("weighted", {.ignore_index = 2, .weight = weight}),
                     with("everything", {.ignore_index = 0, .label_smoothing = 0.2, .weight = weight})};
}

const Op cross_entropy_op(
    {.name = "cross_entropy",
     .formula = {.forward = "y{y}ₜ = <label_smoothing:(1−s) (>logsumexp(x{0}ₜ) − x[t, "
                            "target]<label_smoothing:) + s · its mean over all classes, s = "
                            "{label_smoothing}>",
                 .backward = {"dx{x} = dy ⊙ (softmax(x) − <label_smoothing:(1−s) onehot(target) − "
                              "s/V|onehot(target)>), times the weight of the target where there are "
                              "weights"}},
     .samples = cross_entropy_samples});

void check_scores(const char* name, const Tensor& scores, const Tensor& target, const Tensor& weight,
                  int64_t ignore_index) {
  check_floating(name, scores);
  check_targets(name, scores.shape(), scores.dtype(), target, weight, ignore_index);
}

/// The mean over targets by their weights; 0 where nothing counts.
Tensor reduced_by_weight(const Tensor& losses, const Tensor& weights, Reduction reduction) {
  if (reduction != Reduction::mean) return reduced(losses, reduction);
  return sum(losses) * mean_scale(weights);
}

/// -weight[t] log_p[t], 0 where ignored.
Tensor picked(const Tensor& log_p, const Tensor& target, const Tensor& target_weights, int64_t ignore_index) {
  const Tensor safe = where(ne(target, ignore_index), target, scalar(0, i64));
  const Tensor chosen = squeeze(gather(log_p, -1, unsqueeze(safe, -1)), -1);
  return -(target_weights * masked_fill(chosen, eq(target, ignore_index), 0));
}

Tensor composed(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& o) {
  const Tensor log_p = log_softmax(logits, -1);
  const Tensor weights = target_weight(target, o.weight, o.ignore_index, logits.dtype());
  Tensor exact = picked(log_p, target, weights, o.ignore_index);
  if (o.label_smoothing == 0) return exact;
  const Tensor spread = o.weight.defined() ? sum(log_p * o.weight, -1) : sum(log_p, -1);
  const double share = o.label_smoothing / static_cast<double>(logits.size(-1));
  const Tensor ignored = eq(target, o.ignore_index);
  return (1 - o.label_smoothing) * exact - share * masked_fill(spread, ignored, 0);
}

/// q = softmax(logits); dlogits = dloss ((1-s) w[t] (q - onehot t) + s/V (q sum(w) - w)).
Tensor fused_gradient(const BackwardContext& c, const CrossEntropyOptions& o) {
  Tensor dlogits = c.room_of_saved(0);  // a batch of logits over a large vocabulary is the largest tensor of a step
  const Tensor logits = c.saved(0), target = c.saved(1), lse = c.saved(2), dloss = c.grad();
  const int64_t classes = logits.size(-1);
  dispatch_floating("cross_entropy", logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::loss<T>().cross_entropy_backward(
        target.numel(), classes, logits.data<T>(), target.data<int64_t>(), data_or_null<T>(o.weight), o.ignore_index,
        static_cast<T>(o.label_smoothing), lse.data<T>(), dloss.data<T>(), dlogits.mutable_data<T>());
  });
  return dlogits;
}

Tensor losses_of(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& o) {
  if (Composed::active()) return composed(logits, target, o);
  Tensor losses = empty(target.shape(), logits.dtype()), lse = empty_like(losses);
  dispatch_floating("cross_entropy", logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::loss<T>().cross_entropy(target.numel(), logits.size(-1), logits.data<T>(), target.data<int64_t>(),
                                     data_or_null<T>(o.weight), o.ignore_index, static_cast<T>(o.label_smoothing),
                                     losses.mutable_data<T>(), lse.mutable_data<T>());
  });
  return record(cross_entropy_op, {logits}, losses, {logits, target, lse},
                [o](const BackwardContext& c) -> Tensors {
                  if (!c.create_graph()) return {fused_gradient(c, o)};
                  const Tensor fixed_target = c.saved(1);
                  return twin_gradients(c, {c.saved(0)}, 1,
                                        [&](const Tensors& in) { return Tensors{composed(in[0], fixed_target, o)}; });
                },
                {{"ignore_index", o.ignore_index}, {"label_smoothing", o.label_smoothing}});
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  check_label_smoothing("cross_entropy", options.label_smoothing);
  CrossEntropyOptions o = options;
  if (o.weight.defined()) o.weight = o.weight.detach();
  check_scores("cross_entropy", logits, target, o.weight, o.ignore_index);
  const Tensor losses = losses_of(logits, target, o);
  if (o.reduction != Reduction::mean) return reduced(losses, o.reduction);
  return reduced_by_weight(losses, target_weight(target, o.weight, o.ignore_index, logits.dtype()), o.reduction);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options) {
  check_scores("nll_loss", log_probabilities, target, options.weight, options.ignore_index);
  const Tensor weights = target_weight(target, options.weight, options.ignore_index, log_probabilities.dtype());
  return reduced_by_weight(picked(log_probabilities, target, weights, options.ignore_index), weights,
                           options.reduction);
}

}  // namespace tape
