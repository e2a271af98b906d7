#include "autograd/gradcheck/blame_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/patterns.h"
#include "autograd/ops/reduce/totals.h"

namespace tape::detail {
namespace {

constexpr double kStep = 1e-6;
constexpr size_t kGuilty = 8;
constexpr size_t kSuspects = 64;
constexpr int64_t kMostElements = 128;

double weight(double x) { return std::isfinite(x) ? std::max(1.0, std::abs(x)) : 0; }

/// Returns x + by * direction; an undefined direction moves one element.
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

/// Returns a random direction, scaled in each element by its value if that exceeds 1; infinite elements do not move.
Tensor random_direction(const Tensor& x, Generator& stream, DirectionScale reach = DirectionScale::plain) {
  Tensor direction = randn(x.shape(), f64, stream);
  double* value = direction.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double size = std::abs(x.data<double>()[i]);
    value[i] *= reach == DirectionScale::within_values && size < 1 ? size : weight(size);
  }
  return direction;
}

/// An element with an infinite gradient must not hide other wrong elements.
void leave_out_not_finite(const Tensor& gradient, Tensor& direction) {
  double* v = direction.mutable_data<double>();
  for (int64_t i = 0; i < direction.numel(); ++i)
    if (!std::isfinite(gradient.data<double>()[i])) v[i] = 0;
}

}  // namespace

/// Returns the error of a step's gradient between two values of a slot, relative to its size along that line; 0 if
/// rounding explains it.
double BlameSearch::miss_along(size_t step, size_t slot, const Tensor& above, const Tensor& below,
                               const Tensors& above_values, const Tensors& below_values) const {
  const Slopes slopes =
      slopes_of(above_values, gradients_.steps[step].values, below_values, gradients_.steps[step].head, kStep, kStep);
  if (!std::isfinite(slopes.central)) return 0;
  double along = 0, length = 0;
  const double *g = gradient(step, slot).data<double>(), *a = above.data<double>(), *b = below.data<double>();
  for (int64_t i = 0; i < above.numel(); ++i) {
    // The actual step, because x + h v and x - h v are rounded.
    const double part = a[i] == b[i] ? 0 : g[i] * (a[i] - b[i]) / (2 * kStep);
    along += part;
    length += part * part;
  }
  const double size = std::max(std::sqrt(length), std::abs(slopes.central));
  const double miss = std::abs(along - slopes.central);
  if (miss <= kBlameTolerance * size + 4 * slopes.noise) return 0;
  return std::isfinite(miss) ? miss / size : INFINITY;
}

/// Moves that slot of every step along its own direction and records the errors of their gradients.
void BlameSearch::try_direction(size_t slot, DirectionScale reach, std::vector<double>& misses) {
  std::vector<Replay::Move> up(steps().size()), down(steps().size());
  for (size_t k = 0; k < steps().size(); ++k) {
    if (slot >= gradients_.steps[k].slots.size()) continue;
    const Tensor& x = steps()[k].slots[slot].tensor;
    Tensor direction = random_direction(x, stream_, reach);
    if (reach == DirectionScale::within_values) leave_out_not_finite(gradient(k, slot), direction);
    up[k] = {slot, moved(x, direction, 0, kStep)};
    down[k] = {slot, moved(x, direction, 0, -kStep)};
  }
  std::vector<Tensors> above = replay_.run(up), below = replay_.run(down);
  // A step may have been tainted by another step's move.
  const std::vector<bool> tainted = replay_.tainted();
  for (size_t k = 0; k < steps().size(); ++k) {
    if (!tainted[k]) continue;
    above[k] = replay_.run_one(k, up[k]);
    below[k] = replay_.run_one(k, down[k]);
  }
  for (size_t k = 0; k < steps().size(); ++k)
    if (!above[k].empty() && !below[k].empty())
      misses[k] = std::max(misses[k], miss_along(k, slot, up[k].values, down[k].values, above[k], below[k]));
}

/// Returns the steps that deviate, worst first.
std::vector<size_t> BlameSearch::suspects() {
  size_t slots = 0;
  for (const StepGradients& step : gradients_.steps) slots = std::max(slots, step.slots.size());
  std::vector<double> misses(steps().size());
  for (size_t slot = 0; slot < slots; ++slot)
    for (const DirectionScale reach : {DirectionScale::plain, DirectionScale::plain, DirectionScale::within_values})
      try_direction(slot, reach, misses);
  std::vector<size_t> found(misses.size());
  std::iota(found.begin(), found.end(), size_t{0});
  std::erase_if(found, [&](size_t k) { return misses[k] == 0; });
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) { return misses[a] > misses[b]; });
  if (found.size() > kSuspects) found.resize(kSuspects);
  return found;
}

Slopes BlameSearch::measure(size_t step, size_t slot, int64_t element, double size) {
  const Tensor& x = steps()[step].slots[slot].tensor;
  const double value = x.data<double>()[element], up = value + size, down = value - size;
  const Tensors above = replay_.run_one(step, {slot, moved(x, {}, element, size)});
  const Tensors below = replay_.run_one(step, {slot, moved(x, {}, element, -size)});
  if (above.empty() || below.empty()) return Slopes{.central = NAN};
  return slopes_of(above, gradients_.steps[step].values, below, gradients_.steps[step].head, up - value, value - down,
                   std::max(1.0, std::abs(value)));
}

/// Finds a wrong element when few of many are wrong: bisects the moved part of the slot and keeps the half with the
/// larger error. Returns -1 if none is wrong.
int64_t BlameSearch::find_miss(size_t step, size_t slot) {
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

ComparedGradient BlameSearch::compare(size_t step, size_t slot, std::vector<int64_t> elements) {
  const RecordedStep::Slot& place = steps()[step].slots[slot];
  ComparedGradient compared{
      .name = fmt::format("input{} {}", place.inputs.size() == 1 ? "" : "s", fmt::join(place.inputs, " and ")),
      .shape = place.tensor.shape(),
      .elements = std::move(elements),
      .analytic = gradient(step, slot).to_vector<double>()};
  const auto settle = [&](size_t i) {
    const int64_t element = compared.elements[i];
    const double step_size = kStep * weight(place.tensor.data<double>()[element]);
    // An infinite value has no gradient to compare with, so the tape's is accepted.
    if (step_size == 0) return SettledSlope{.numeric = compared.analytic_of(i)};
    return settle_slope(compared.analytic_of(i), step_size, kBlameTolerance,
                        [&](double size) { return measure(step, slot, element, size); });
  };
  const auto verify = [&](size_t i, const SettledSlope& first) {
    const int64_t element = compared.elements[i];
    if (!std::isfinite(compared.analytic_of(i)) && !all_finite("gradcheck", steps()[step].outputs))
      return SettledSlope{.numeric = NAN, .undecided = "its output is not finite"};
    const double value = place.tensor.data<double>()[element];
    return verify_slope(compared.analytic_of(i), first, {value, kStep * weight(value)}, kBlameTolerance,
                        [&](double size) { return measure(step, slot, element, size); });
  };
  compared.compare(kBlameTolerance, 1e-8, settle, verify);
  return compared;
}

/// Checks a sample of the slot's elements and, if all of them are right, searches for a wrong one.
ComparedGradient BlameSearch::compare(size_t step, size_t slot) {
  const Tensor& x = steps()[step].slots[slot].tensor;
  const int64_t numel = x.numel();
  // Tensors that a backward reads from its node are new handles each time and cannot be moved. And if a step's
  // constants move along, its outputs do not depend on the slot alone.
  const Tensor away = moved(x, random_direction(x, stream_, DirectionScale::within_values), 0, kStep);
  if (replay_.run_one(step, {slot, away}).empty()) return compare(step, slot, {});
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

/// Returns the slots of a step whose gradients are wrong.
std::vector<GuiltyOperation> BlameSearch::examine(size_t k, bool composed) {
  std::vector<GuiltyOperation> guilty;
  const RecordedStep& step = steps()[k];
  const Tensors& values = gradients_.steps[k].values;
  std::vector<ComparedGradient> slots;
  for (size_t slot = 0; slot < step.slots.size(); ++slot) slots.push_back(compare(k, slot));
  bool undecided = false;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    undecided = undecided || !slots[slot].undecided.empty();
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
  if (undecided && guilty.empty()) undecided_.push_back(describe_call(step));
  return guilty;
}

/// Examines suspects, worst first, until enough are guilty, so that an innocent one does not hide a guilty one.
std::vector<GuiltyOperation> BlameSearch::run(bool composed) {
  std::vector<GuiltyOperation> guilty;
  size_t steps_found = 0;
  for (const size_t k : suspects()) {
    if (steps_found == kGuilty) break;
    const std::vector<GuiltyOperation> found = examine(k, composed);
    steps_found += !found.empty();
    guilty.insert(guilty.end(), found.begin(), found.end());
  }
  std::stable_sort(guilty.begin(), guilty.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
  return guilty;
}

}  // namespace tape::detail
