#include "autograd/ops/loss/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/kernels/loss/ctc.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/indexing.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

/// States s are the labels l with blanks between and around them. αₜ(s) sums the paths to a state and βₜ(s) those from
/// it to the end, so αₜ(s) βₜ(s) / Σₛ αₜ(s) βₜ(s) is the share of paths that are in s at frame t, and
/// d(−ln Σ) / d ln p is minus that share.
const Op ctc_loss_op({.name = "ctc_loss",
                      .formula = {.forward = "y{y} = −ln Σ over the paths that spell a target of Πₜ exp x[t]{0}, blank "
                                             "{blank}",
                                  .backward = {"dx{x} = −dy ⊙ the share of these paths with class c at frame t"}}});

/// Checked targets: labels [N, S], which are the blank past the end of each target; lengths [N].
struct CtcTargets {
  Tensor targets, input_lengths, target_lengths;
  int64_t blank;
  bool zero_infinity;
};

/// Lengths [N] in [0, most].
Tensor checked_lengths(const char* name, const Tensor& lengths, int64_t sequences, int64_t most) {
  if (lengths.dtype() != i64)
    raise(ErrorKind::dtype, "ctc_loss: {} must be i64, got {}", name, to_string(lengths.dtype()));
  if (lengths.shape() != Shape{sequences} && !(sequences == 1 && lengths.rank() == 0))
    raise(ErrorKind::shape, "ctc_loss: {} must be [{}], got {}", name, sequences, to_string(lengths.shape()));
  return checked_index("ctc_loss", name, reshape(lengths, {sequences}), most + 1);
}

/// Whether position i of row n is past the end of a target, [N, most].
Tensor past_end(const Tensor& lengths, int64_t most) {
  return ge(arange(most, lengths.options()), unsqueeze(lengths, 1));
}

/// Splits concatenated labels into rows padded to the longest target, whose length the host reads.
Tensor rows_of_labels(const Tensor& targets, const Tensor& target_lengths) {
  const std::vector<int64_t> lengths = target_lengths.to_vector<int64_t>();
  if (const int64_t all = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); all != targets.numel())
    raise(ErrorKind::shape, "ctc_loss: target_lengths add up to {}, targets are {}", all, to_string(targets.shape()));
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  std::vector<int64_t> starts(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), int64_t{0});
  const Tensor first = from_vector(starts).to(target_lengths.device());
  const Tensor places = unsqueeze(first, 1) + arange(longest, target_lengths.options());
  const Tensor read = masked_fill(places, past_end(target_lengths, longest), 0);
  return reshape(index_select(targets, 0, flatten(read)), read.shape());
}

/// Labels [N, S], checked up to the end of each target and the blank past it, where any value may be given.
Tensor checked_labels(const Tensor& labels, const Tensor& lengths, int64_t classes, int64_t blank) {
  const Tensor past = past_end(lengths, labels.size(1));
  const auto message = [shape = labels.shape(), blank](int64_t position) {
    return fmt::format("the label at position {} is the blank {}", position_text(shape, position), blank);
  };
  check_none(ErrorKind::index, "ctc_loss", logical_and(eq(labels, blank), logical_not(past)), message);
  return checked_index("ctc_loss", "label", masked_fill(labels, past, static_cast<double>(blank)), classes);
}

/// log_probs is [T, N, C].
CtcTargets checked_targets(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                           const Tensor& target_lengths, const CtcOptions& o) {
  const int64_t frames = log_probs.size(0), sequences = log_probs.size(1), classes = log_probs.size(2);
  if (targets.dtype() != i64)
    raise(ErrorKind::dtype, "ctc_loss: targets must be i64, got {}", to_string(targets.dtype()));
  if (targets.rank() < 1 || targets.rank() > 2 || (targets.rank() == 2 && targets.size(0) != sequences))
    raise(ErrorKind::shape, "ctc_loss: targets must be [{}, S] or all labels concatenated, got {}", sequences,
          to_string(targets.shape()));
  if (o.blank < 0 || o.blank >= classes)
    raise(ErrorKind::config, "ctc_loss: blank {} is outside [0, {})", o.blank, classes);
  const Tensor frame_counts = checked_lengths("input_lengths", input_lengths, sequences, frames),
               lengths = checked_lengths("target_lengths", target_lengths, sequences, targets.size(-1));
  const Tensor labels = targets.rank() == 2 ? targets : rows_of_labels(targets, lengths);
  return {checked_labels(labels, lengths, classes, o.blank), frame_counts, lengths, o.blank, o.zero_infinity};
}

/// The labels with blanks between and around them, [N, 2 S + 1].
Tensor states_of(const CtcTargets& s) {
  const Shape& shape = s.targets.shape();
  const Tensor blanks = full(shape, static_cast<double>(s.blank), s.targets.options());
  const Tensor pairs = stack({blanks, s.targets}, -1);
  return cat({reshape(pairs, {shape[0], 2 * shape[1]}),
              full({shape[0], 1}, static_cast<double>(s.blank), s.targets.options())},
             1);
}

/// States that no path may enter by skipping the previous state: blanks, and labels equal to the previous label.
Tensor without_skip(const Tensor& states, int64_t blank) {
  const int64_t count = states.size(1);
  const Tensor two_before = slice(pad(states, {{2, 0}}, static_cast<double>(blank)), 1, {.end = count});
  return eq(states, two_before);  // blanks are two apart, and so are labels
}

/// Log probabilities of the paths to each state, [T, N, 2 S + 1].
Tensor paths_to_states(const Tensor& log_probs, const Tensor& states, int64_t blank) {
  const int64_t frames = log_probs.size(0), sequences = states.size(0), count = states.size(1);
  const Tensor emitted = gather(log_probs, 2, expand(states, {frames, sequences, count})),
               stuck = without_skip(states, blank);
  Tensors alpha{masked_fill(emitted[0], ge(arange(count, states.options()), 2), -INFINITY)};
  for (int64_t t = 1; t < frames; ++t) {
    const Tensor padded = pad(alpha.back(), {{2, 0}}, -INFINITY);
    const Tensor next = slice(padded, 1, {.start = 1, .end = count + 1});
    const Tensor past = masked_fill(slice(padded, 1, {.end = count}), stuck, -INFINITY);
    alpha.push_back(emitted[t] + logsumexp(stack({alpha.back(), next, past}), 0));
  }
  return stack(alpha);
}

/// Elementwise maximum of an i64 tensor and `least`.
Tensor at_least(const Tensor& numbers, double least) { return maximum(numbers, scalar(least, numbers.options())); }

struct CtcLoss {
  CtcTargets of;
  int64_t frames, sequences, classes;

  int64_t states() const { return 2 * of.targets.size(1) + 1; }
  template <class Call>
  kernels::CtcProblem problem(const Call& c) const {
    return {.T = frames,
            .N = sequences,
            .C = classes,
            .S = of.targets.size(1),
            .targets = c.template constant<int64_t>(0),
            .input_lengths = c.template constant<int64_t>(1),
            .target_lengths = c.template constant<int64_t>(2),
            .blank = of.blank,
            .zero_infinity = of.zero_infinity};
  }

  std::array<Tensor, 3> constants() const { return {of.targets, of.input_lengths, of.target_lengths}; }
  /// Kept: log probabilities of the paths to each state (large, so only if recorded); losses before zero_infinity.
  Results<1, 2> results(Inputs in) const {
    const TensorOptions like = in[0].options();
    return {{empty({sequences}, like)},
            {needs_record(in) ? empty({sequences, frames, states()}, like) : Tensor(), empty({sequences}, like)}};
  }
  void forward(const auto& c) const { kernels::ctc(c).forward(problem(c), c.in(0), c.kept(0), c.kept(1), c.out()); }
  void backward(const auto& c) const {
    kernels::ctc(c).backward(problem(c), c.in(0), c.kept(0), c.kept(1), c.dout(), c.din(0));
  }
  Tensor reference(Inputs in) const {
    const Tensor empty_target = eq(of.target_lengths, 0), no_frames = eq(of.input_lengths, 0);
    Tensor losses;
    if (frames == 0) {
      losses = sum(in[0], {0, 2});
    } else {
      const Tensor alpha = paths_to_states(in[0], states_of(of), of.blank);
      const Tensor frame = at_least(of.input_lengths - 1, 0), n = arange(sequences, of.targets.options());
      const Tensor last = index(alpha, {frame, n, 2 * of.target_lengths});
      const Tensor other = index(alpha, {frame, n, at_least(2 * of.target_lengths - 1, 0)});
      losses = -logsumexp(stack({last, masked_fill(other, empty_target, -INFINITY)}), 0);
    }
    losses = masked_fill(losses, logical_and(no_frames, empty_target), 0);
    losses = masked_fill(losses, logical_and(no_frames, logical_not(empty_target)), INFINITY);
    return of.zero_infinity ? masked_fill(losses, isinf(losses), 0) : losses;
  }
};

}  // namespace

Tensor ctc_loss(const Tensor& given, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                const CtcOptions& options) {
  const Tensor log_probs = loss_operand(given);
  check_floating("ctc_loss", log_probs);
  if (log_probs.rank() == 2) {
    const Tensor one = ctc_loss(unsqueeze(log_probs, 1), targets, input_lengths, target_lengths, options);
    return options.reduction == Reduction::none ? squeeze(one, 0) : one;
  }
  if (log_probs.rank() != 3)
    raise(ErrorKind::shape, "ctc_loss: log_probs must be [T, N, C] or [T, C], got {}", to_string(log_probs.shape()));
  const CtcTargets ctc_targets = checked_targets(log_probs, targets, input_lengths, target_lengths, options);
  const CtcLoss call{ctc_targets, log_probs.size(0), log_probs.size(1), log_probs.size(2)};
  const Tensor losses = fused(ctc_loss_op, {log_probs}, call,
                              {{"blank", ctc_targets.blank}, {"zero_infinity", ctc_targets.zero_infinity}});
  if (options.reduction != Reduction::mean) return reduced(losses, options.reduction);
  return mean(losses / cast(at_least(ctc_targets.target_lengths, 1), losses.dtype()));
}

}  // namespace tape
