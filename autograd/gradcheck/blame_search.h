#pragma once

#include <functional>
#include <string>
#include <vector>

#include "blame_gradient.h"
#include "blame_step.h"
#include "compare.h"
#include "recorded_call.h"
#include "replay.h"

namespace tape::detail {

/// Returns how far a direction moves a small value: up to 1, or at most its own size, so that it does not cross zero.
enum class DirectionScale { plain, within_values };

/// Checks the recorded steps of a function one by one, for find_guilty().
class BlameSearch {
 public:
  BlameSearch(const std::function<Tensors()>& f, uint64_t seed) : replay_(f), seed_(seed), stream_(seed + 17) {}
  BlameSearch(const std::function<Tensors()>& f, uint64_t seed, GradientSteps& second)
      : replay_(f, second.probe()), seed_(seed), stream_(seed + 17), gradients_(second.start(replay_, stream_)) {}

  /// Must be called before run() when searching a first derivative.
  void differentiate() { gradients_ = RunGradients(replay_, stream_); }

  const Replay& replay() const { return replay_; }
  const RunGradients& gradients() const { return gradients_; }
  /// Returns steps for which differences were inconclusive, as in "'log', called at layer.cpp:42".
  const std::vector<std::string>& undecided() const { return undecided_; }
  std::vector<const Op*> ops() const {
    std::vector<const Op*> ops;
    for (const RecordedStep& step : steps()) ops.push_back(step.op);
    return ops;
  }
  bool has_segments() const {
    return std::any_of(steps().begin(), steps().end(),
                       [](const RecordedStep& step) { return step.node->segment != nullptr; });
  }
  /// Describes a step as a GuiltyOperation, without its error.
  GuiltyOperation named(size_t step) const { return describe_step<GuiltyOperation>(steps()[step], step); }
  std::vector<GuiltyOperation> run(bool composed);

 private:
  std::vector<size_t> suspects();
  void try_direction(size_t slot, DirectionScale reach, std::vector<double>& misses);
  std::vector<GuiltyOperation> examine(size_t step, bool composed);
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
  std::vector<std::string> undecided_;
};

}  // namespace tape::detail
