#include "autograd/gradcheck/blame.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/blame_gradient.h"
#include "autograd/gradcheck/blame_step.h"
#include "autograd/gradcheck/patterns.h"
#include "autograd/gradcheck/slopes.h"
#include "autograd/ops/op.h"

namespace tape::detail {
namespace {

constexpr double kStep = 1e-6;
constexpr int kDirections = 2;
constexpr size_t kSuspects = 8;
constexpr int64_t kMostElements = 128;

double weight(double x) { return std::isfinite(x) ? std::max(1.0, std::abs(x)) : 0; }

/// x + by * direction, where the direction is undefined that of one element.
Tensor moved(const Tensor& x, const Tensor& direction, int64_t element, double by) {
  Tensor values = x.detach().clone();
  double* value = values.mutable_data<double>();
  if (!direction.defined()) {
    value[element] += by;
    return values;
  }
  for (int64_t i = 0; i < x.numel(); ++i)
    if (const double change = direction.data<double>()[i]; change != 0) value[i] += by * change;
  return values;
}

/// Random, as long in each element as its value where that exceeds 1; an infinite element stays where it is.
Tensor random_direction(const Tensor& x, Generator& stream) {
  Tensor direction = randn(x.shape(), f64, stream);
  double* value = direction.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) value[i] *= weight(x.data<double>()[i]);
  return direction;
}

class Search {
 public:
  Search(const std::function<Tensors()>& f, uint64_t seed)
      : replay_(f), seed_(seed), stream_(seed + 17), gradients_(replay_, stream_) {}
  Search(const std::function<Tensors()>& f, uint64_t seed, GradientSteps& second)
      : replay_(f, second.probe()), seed_(seed), stream_(seed + 17), gradients_(second.start(replay_, stream_)) {}

  const RunGradients& gradients() const { return gradients_; }
  std::vector<const Op*> ops() const {
    std::vector<const Op*> ops;
    for (const RecordedStep& step : steps()) ops.push_back(step.op);
    return ops;
  }
  bool has_segments() const {
    return std::any_of(steps().begin(), steps().end(),
                       [](const RecordedStep& step) { return step.node->segment != nullptr; });
  }
  /// A step as a guilty one, without what is wrong with it.
  GuiltyOperation named(size_t step) const;
  std::vector<GuiltyOperation> run(bool composed);

 private:
  std::vector<size_t> suspects();
  void try_direction(size_t slot, std::vector<double>& misses);
  double miss_along(size_t step, size_t slot, const Tensor& above, const Tensor& below, const Tensors& above_values,
                    const Tensors& below_values) const;
  ComparedGradient compare(size_t step, size_t slot);
  ComparedGradient compare(size_t step, size_t slot, std::vector<int64_t> elements);
  int64_t find_miss(size_t step, size_t slot);
  Slopes measure(size_t step, size_t slot, int64_t element, double size);

  const std::vector<RecordedStep>& steps() const { return replay_.steps(); }
  const Tensor& gradient(size_t step, size_t slot) const { return gradients_.steps[step].slots[slot]; }

  Replay replay_;
  const uint64_t seed_;
  Generator stream_;
  RunGradients gradients_;
};

/// By how much a step's gradient misses the difference of its values between two values of a slot, relative to its
/// size along that line; 0 where rounding explains it.
double Search::miss_along(size_t step, size_t slot, const Tensor& above, const Tensor& below,
                          const Tensors& above_values, const Tensors& below_values) const {
  const Slopes slopes =
      slopes_of(above_values, gradients_.steps[step].values, below_values, gradients_.steps[step].head, kStep, kStep);
  if (!std::isfinite(slopes.central)) return 0;
  double along = 0, length = 0;
  const double *g = gradient(step, slot).data<double>(), *a = above.data<double>(), *b = below.data<double>();
  for (int64_t i = 0; i < above.numel(); ++i) {
    // The step that is really taken: x + h v and x - h v are rounded.
    const double part = a[i] == b[i] ? 0 : g[i] * (a[i] - b[i]) / (2 * kStep);
    along += part;
    length += part * part;
  }
  const double size = std::max(std::sqrt(length), std::abs(slopes.central));
  const double miss = std::abs(along - slopes.central);
  if (miss <= kBlameTolerance * size + 4 * slopes.noise) return 0;
  return std::isfinite(miss) ? miss / size : INFINITY;
}

/// Moves that slot of every step along a direction of its own, and notes by how much its gradient misses.
void Search::try_direction(size_t slot, std::vector<double>& misses) {
  std::vector<Replay::Move> up(steps().size()), down(steps().size());
  for (size_t k = 0; k < steps().size(); ++k) {
    if (slot >= gradients_.steps[k].slots.size()) continue;
    const Tensor& x = steps()[k].slots[slot].tensor;
    const Tensor direction = random_direction(x, stream_);
    up[k] = {slot, moved(x, direction, 0, kStep)};
    down[k] = {slot, moved(x, direction, 0, -kStep)};
  }
  const std::vector<Tensors> above = replay_.run(up), below = replay_.run(down);
  for (size_t k = 0; k < steps().size(); ++k)
    if (!above[k].empty() && !below[k].empty())
      misses[k] = std::max(misses[k], miss_along(k, slot, up[k].values, down[k].values, above[k], below[k]));
}

/// The steps that miss most, in the order recorded.
std::vector<size_t> Search::suspects() {
  size_t slots = 0;
  for (const StepGradients& step : gradients_.steps) slots = std::max(slots, step.slots.size());
  std::vector<double> misses(steps().size());
  for (size_t slot = 0; slot < slots; ++slot)
    for (int i = 0; i < kDirections; ++i) try_direction(slot, misses);
  std::vector<size_t> found(misses.size());
  std::iota(found.begin(), found.end(), size_t{0});
  std::erase_if(found, [&](size_t k) { return misses[k] == 0; });
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) { return misses[a] > misses[b]; });
  if (found.size() > kSuspects) found.resize(kSuspects);
  std::sort(found.begin(), found.end());
  return found;
}

Slopes Search::measure(size_t step, size_t slot, int64_t element, double size) {
  const Tensor& x = steps()[step].slots[slot].tensor;
  const double value = x.data<double>()[element], up = value + size, down = value - size;
  const Tensors above = replay_.run_one(step, {slot, moved(x, {}, element, size)});
  const Tensors below = replay_.run_one(step, {slot, moved(x, {}, element, -size)});
  return slopes_of(above, gradients_.steps[step].values, below, gradients_.steps[step].head, up - value, value - down);
}

/// An element that is off, where few of many are: halves the part of the slot that moves, keeping the half that misses
/// more. -1 where none misses.
int64_t Search::find_miss(size_t step, size_t slot) {
  const Tensor& x = steps()[step].slots[slot].tensor;
  const Tensor direction = random_direction(x, stream_);
  const auto miss_within = [&](int64_t begin, int64_t end) {
    Tensor part = zeros(x.shape(), f64);
    std::copy(direction.data<double>() + begin, direction.data<double>() + end, part.mutable_data<double>() + begin);
    const Tensor up = moved(x, part, 0, kStep), down = moved(x, part, 0, -kStep);
    const Tensors above = replay_.run_one(step, {slot, up}), below = replay_.run_one(step, {slot, down});
    return above.empty() || below.empty() ? 0 : miss_along(step, slot, up, down, above, below);
  };
  int64_t begin = 0, end = x.numel();
  while (end - begin > 1) {
    const int64_t middle = begin + (end - begin) / 2;
    const double first = miss_within(begin, middle), second = miss_within(middle, end);
    if (first == 0 && second == 0) return -1;
    (first >= second ? end : begin) = middle;
  }
  return begin;
}

ComparedGradient Search::compare(size_t step, size_t slot, std::vector<int64_t> elements) {
  const RecordedStep::Slot& place = steps()[step].slots[slot];
  ComparedGradient compared{
      .name = fmt::format("input{} {}", place.inputs.size() == 1 ? "" : "s", fmt::join(place.inputs, " and ")),
      .shape = place.tensor.shape(),
      .elements = std::move(elements),
      .analytic = gradient(step, slot).to_vector<double>()};
  compared.compare(kBlameTolerance, 1e-8, [&](size_t i) {
    const int64_t element = compared.elements[i];
    const double step_size = kStep * weight(place.tensor.data<double>()[element]);
    // Where it is infinite there is no gradient: what the tape says counts.
    if (step_size == 0) return SettledSlope{.numeric = compared.analytic_of(i)};
    return settle_slope(compared.analytic_of(i), step_size, kBlameTolerance,
                        [&](double size) { return measure(step, slot, element, size); });
  });
  return compared;
}

/// A sample of the slot's elements; where none of them is off, one that is, if there is any.
ComparedGradient Search::compare(size_t step, size_t slot) {
  const Tensor& x = steps()[step].slots[slot].tensor;
  const int64_t numel = x.numel();
  // What a backward reads of its node is another handle each time: nothing of it can be moved.
  if (replay_.run_one(step, {slot, x.detach().clone()}).empty()) return compare(step, slot, {});
  Generator stream(seed_);
  std::vector<int64_t> elements = randperm(numel, stream).to_vector<int64_t>();
  elements.resize(static_cast<size_t>(std::min(kMostElements, numel)));
  ComparedGradient sample = compare(step, slot, elements);
  if (!sample.wrong.empty() || std::ssize(elements) == numel) return sample;
  const int64_t off = find_miss(step, slot);
  if (off < 0 || std::find(elements.begin(), elements.end(), off) != elements.end()) return sample;
  elements.push_back(off);
  return compare(step, slot, elements);
}

GuiltyOperation Search::named(size_t step) const {
  const RecordedStep& recorded = steps()[step];
  GuiltyOperation guilty;
  guilty.operation = recorded.op->name();
  guilty.attributes = to_string(recorded.node->attributes);
  guilty.place = static_cast<int64_t>(step);
  if (recorded.node->trace) {
    guilty.module_path = recorded.node->trace->module_path;
    guilty.source = recorded.node->trace->source();
  }
  return guilty;
}

std::vector<GuiltyOperation> Search::run(bool composed) {
  std::vector<GuiltyOperation> guilty;
  for (const size_t k : suspects()) {
    const RecordedStep& step = steps()[k];
    const Tensors& values = gradients_.steps[k].values;
    std::vector<ComparedGradient> slots;
    for (size_t slot = 0; slot < step.slots.size(); ++slot) slots.push_back(compare(k, slot));
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].wrong.empty()) continue;
      GuiltyOperation found = named(k);
      found.composed = composed;
      found.gradient = slots[slot].result(kBlameTolerance);
      found.gradient.explanation =
          explain_wrong(slots[slot], slots, values.size() == 1 ? values[0].shape() : Shape{}, [&](size_t checked) {
            const int64_t element = slots[slot].elements[checked];
            return measure(k, slot, element, kStep * weight(step.slots[slot].tensor.data<double>()[element])).parts;
          });
      guilty.push_back(std::move(found));
    }
  }
  return guilty;
}

/// What to think where every operation is right.
std::string nobody(const Search& search) {
  const RunGradients& gradients = search.gradients();
  std::string text = fmt::format(
      "No operation is guilty: each of the {} on the tape has the gradient of its own inputs (to {:.0e}). So a "
      "value went past the tape: by detach(), a NoGrad scope, data(), or as a constant computed from an input.",
      gradients.checked, kBlameTolerance);
  if (!gradients.frozen.empty())
    text += fmt::format(" Or it is the padding's, which gets no gradient by design: {}.",
                        fmt::join(gradients.frozen, ", "));
  if (search.has_segments()) text += " What ran inside checkpoint() was not looked at.";
  if (gradients.other_dtypes > 0) text += fmt::format(" Not in f64, and so not looked at: {}.", gradients.other_dtypes);
  return text;
}

bool has_operation(const std::vector<GuiltyOperation>& guilty, const std::vector<const Op*>& ops) {
  return std::any_of(guilty.begin(), guilty.end(), [&](const GuiltyOperation& one) {
    return std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return one.operation == op->name(); });
  });
}

/// Looks into fused operations, where the function has any: adds the guilty steps, or says that there are none.
void look_inside(const std::function<Tensors()>& f, uint64_t seed, const std::vector<const Op*>& fused,
                 Verdict& verdict) {
  const Composed composed;
  Search search(f, seed);
  if (search.ops() == fused) return;
  const std::vector<GuiltyOperation> steps = search.run(true);
  if (steps.empty() && !has_operation(verdict.guilty, search.ops()))
    verdict.text =
        "In a Composed scope, where fused operations are recorded step by step, every gradient is right: it is the "
        "fused operation's own that is wrong.";
  for (const GuiltyOperation& step : steps) {
    const bool known = std::any_of(verdict.guilty.begin(), verdict.guilty.end(), [&](const GuiltyOperation& one) {
      return one.operation == step.operation && one.module_path == step.module_path;
    });
    if (!known) verdict.guilty.push_back(step);
  }
}

}  // namespace

Verdict find_guilty(const std::function<Tensors()>& f, uint64_t seed) {
  Verdict verdict;
  try {
    Search search(f, seed);
    verdict.guilty = search.run(Composed::active());
    if (verdict.guilty.empty())
      verdict.text = nobody(search);
    else if (!Composed::active())
      look_inside(f, seed, search.ops(), verdict);
  } catch (const Error& error) {
    verdict.text = fmt::format("The search for the guilty operation ended early: {}", error.what());
  }
  return verdict;
}

Verdict find_guilty_gradient(const std::function<Tensors()>& f, uint64_t seed) {
  Verdict verdict;
  try {
    GradientSteps second;
    Search search(f, seed, second);
    verdict.guilty = search.run(Composed::active());
    for (const auto& [step, miss] : second.not_linear()) {
      verdict.guilty.push_back(search.named(step));
      verdict.guilty.back().gradient = miss;
    }
    for (GuiltyOperation& guilty : verdict.guilty) guilty.derivative = Derivative::second;
    std::stable_sort(verdict.guilty.begin(), verdict.guilty.end(),
                     [](const GuiltyOperation& a, const GuiltyOperation& b) { return a.place < b.place; });
    if (verdict.guilty.empty())
      verdict.text = fmt::format(
          "No operation is guilty: the gradient of each of the {} on the tape that could be looked at has the gradient "
          "of its own inputs (to {:.0e}).{}",
          search.gradients().checked, kBlameTolerance,
          search.has_segments() ? " What ran inside checkpoint() was not looked at." : "");
  } catch (const Error& error) {
    verdict.text = fmt::format("The search for the guilty operation ended early: {}", error.what());
  }
  return verdict;
}

}  // namespace tape::detail
