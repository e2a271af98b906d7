#include "inspect/experiments/nudges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"
#include "inspect/experiments/patch.h"
#include "inspect/run_report/thin.h"

namespace tape::inspect {
namespace {

using Values = std::vector<double>;

/// Indices of the `most` values of largest magnitude in ascending order, skipping zeros and values that are not finite.
std::vector<size_t> largest(const Values& values, size_t most) {
  std::vector<size_t> places;
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && values[i] != 0) places.push_back(i);
  std::ranges::stable_sort(places, [&](size_t a, size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  places.resize(std::min(places.size(), most));
  std::ranges::sort(places);
  return places;
}

/// The last softmax of an attention module.
struct Attention {
  size_t softmax = 0;
  int64_t output = 0;  // index of the step that made the module's output
};

class NudgeRunner {
 public:
  NudgeRunner(const Study& study, const NudgeOptions& options)
      : study_(study), options_(options), in_double_(study.texts.empty() ? nullptr : study.module) {
    first_run();
    find_attention();
  }

  Nudges all() {
    Nudges found;
    choose_of_attention(found);
    choose_activations(found);
    take_other_gradients(found.nudges);
    list_cuts(found.cuts);
    runs_ = 0;
    for (const Nudge& nudge : found.nudges) runs_ += std::ssize(nudge.changes);
    runs_ += std::ssize(found.cuts);
    for (Nudge& nudge : found.nudges) run(nudge);
    for (Ablation& cut : found.cuts) run(cut);
    return found;
  }

 private:
  void first_run() {
    const EnableGrad recording;
    const Composed composed;
    std::vector<PageOutput> outputs;
    {
      OpRecorder steps;
      outputs = study_.run();
      steps_ = std::move(steps.all());
    }
    if (outputs.empty()) raise(ErrorKind::config, "nudges: the study's function returns no output");
    base_ = values_of(outputs);
    for (const PageOutput& output : outputs) outputs_.push_back(output.value);
    take_gradients();
    const OutputEdits nothing({});
    const std::vector<double> again = values_of(study_.run());
    if (again != base_ || nothing.count() != std::ssize(steps_))
      raise(ErrorKind::config,
            "nudges: the function returned {} = {} and then {}: it must be deterministic (call eval())",
            outputs[0].name, base_[0], again[0]);
  }

  /// Gradients of the first output, which determine the elements to perturb.
  void take_gradients() {
    Tensors made;
    for (const RecordedOp& step : steps_) made.push_back(step.output);
    const Tensors gradients = grad({outputs_[0]}, made, {.retain_graph = true, .allow_unused = true});
    for (size_t i = 0; i < steps_.size(); ++i) {
      steps_[i].gradients.push_back(gradients[i].defined() ? values_of(gradients[i]) : Values());
      steps_[i].value = values_of(steps_[i].output);
    }
  }

  /// Gradients of the other outputs, only for perturbed and ablated values, since there may be many outputs.
  void take_other_gradients(std::vector<Nudge>& nudges) {
    for (size_t o = 1; o < outputs_.size(); ++o) {
      std::map<size_t, Values> known;
      for (const Attention& attention : attention_) known[attention.softmax];
      for (const Nudge& nudge : nudges) known[static_cast<size_t>(nudge.recorded)];
      Tensors made;
      for (const auto& [place, values] : known) made.push_back(steps_[place].output);
      const Tensors gradients = grad({outputs_[o]}, made, {.retain_graph = true, .allow_unused = true});
      size_t next = 0;
      for (auto& [place, values] : known) {
        if (gradients[next].defined()) values = values_of(gradients[next]);
        ++next;
      }
      for (Nudge& nudge : nudges) {
        const Values& values = known[static_cast<size_t>(nudge.recorded)];
        nudge.gradients.push_back(values.empty() ? 0 : values[flat_of(nudge)]);
      }
      for (const Attention& attention : attention_)
        steps_[attention.softmax].gradients.push_back(known[attention.softmax]);
    }
    outputs_.clear();
  }

  /// Flat index of the perturbed element.
  size_t flat_of(const Nudge& nudge) const {
    const Tensor& output = steps_[static_cast<size_t>(nudge.recorded)].output;
    size_t flat = 0;
    for (size_t axis = 0; axis < nudge.index.size(); ++axis)
      flat = flat * static_cast<size_t>(output.shape()[static_cast<int64_t>(axis)]) +
             static_cast<size_t>(nudge.index[axis]);
    return flat;
  }

  void find_attention() {
    std::map<std::string, size_t> last;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const RecordedOp& step = steps_[i];
      if (is_attention_weights(step) && !step.gradients[0].empty()) last[step.module] = i;
    }
    for (const auto& [module, softmax] : last) {
      Attention attention{.softmax = softmax};
      for (size_t i = 0; i < steps_.size(); ++i)
        if (steps_[i].module == module || steps_[i].module.starts_with(module + "."))
          attention.output = static_cast<int64_t>(i);
      attention_.push_back(attention);
      heads_ += steps_[softmax].output.size(1);
    }
    std::ranges::sort(attention_, {}, &Attention::softmax);
  }

  Nudge nudge_at(Nudge::Kind kind, size_t place, size_t flat, const std::vector<double>& changes) const {
    const RecordedOp& step = steps_[place];
    Nudge nudge{.kind = kind,
                .module = step.module,
                .operation = step.operation,
                .recorded = static_cast<int64_t>(place),
                .value = step.value[flat],
                .changes = changes};
    auto rest = static_cast<int64_t>(flat);
    for (int64_t axis = step.output.rank() - 1; axis >= 0; --axis) {
      nudge.index.insert(nudge.index.begin(), rest % step.output.size(axis));
      rest /= step.output.size(axis);
    }
    nudge.gradients = {step.gradients[0].empty() ? 0 : step.gradients[0][flat]};
    return nudge;
  }

  /// Chooses equally many unmasked elements for each head.
  void choose_of_heads(Nudges& found, Nudge::Kind kind, size_t place, const Values& scores,
                       const std::vector<double>& changes) const {
    const RecordedOp& step = steps_[place];
    const int64_t heads = step.output.size(1);
    const auto each = static_cast<size_t>(options_.weights == 0 ? 0 : std::max<int64_t>(1, options_.weights / heads_));
    const size_t size = step.value.size() / static_cast<size_t>(heads);
    for (size_t start = 0; start < step.value.size(); start += size) {
      Values gradients(size);
      for (size_t i = 0; i < size; ++i)
        gradients[i] = std::isfinite(scores[start + i]) ? step.gradients[0][start + i] : 0;
      for (const size_t i : largest(gradients, each)) found.nudges.push_back(nudge_at(kind, place, start + i, changes));
    }
  }

  void choose_of_attention(Nudges& found) {
    for (const Attention& attention : attention_) {
      const RecordedOp& softmax = steps_[attention.softmax];
      const Values scores = values_of(softmax.input);
      choose_of_heads(found, Nudge::Kind::weight, attention.softmax, scores, {-0.3, -0.1, -0.02, 0.02, 0.1, 0.3});
      taken_.push_back(attention.softmax);
      if (softmax.source < 0) continue;
      const auto source = static_cast<size_t>(softmax.source);
      taken_.push_back(source);
      choose_of_heads(found, Nudge::Kind::score, source, scores, {-2, -0.5, -0.1, 0.1, 0.5, 2});
    }
  }

  void choose_activations(Nudges& found) const {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const RecordedOp& step = steps_[i];
      if (step.view || step.output.numel() < 2 || step.gradients[0].empty() || std::ranges::count(taken_, i) > 0)
        continue;
      if (!largest(step.gradients[0], 1).empty()) candidates.push_back(i);
    }
    for (const size_t i : evenly_spaced(candidates.size(), static_cast<size_t>(options_.activations))) {
      const RecordedOp& step = steps_[candidates[i]];
      double squares = 0;
      for (const double value : step.value) squares += std::isfinite(value) ? value * value : 0;
      const double size = std::sqrt(squares / static_cast<double>(step.value.size())), unit = size > 0 ? size : 1;
      std::vector<double> changes;
      for (const double part : {-1.0, -0.3, -0.05, 0.05, 0.3, 1.0}) changes.push_back(part * unit);
      found.nudges.push_back(
          nudge_at(Nudge::Kind::activation, candidates[i], largest(step.gradients[0], 1)[0], changes));
    }
  }

  void list_cuts(std::vector<Ablation>& cuts) const {
    for (const Attention& attention : attention_) {
      const RecordedOp& softmax = steps_[attention.softmax];
      for (int64_t head = 0; head < softmax.output.size(1); ++head) {
        cuts.push_back({.kind = Ablation::Kind::head, .module = softmax.module, .head = head});
        for (int64_t key = 0; key < softmax.output.size(3); ++key)
          cuts.push_back({.kind = Ablation::Kind::key, .module = softmax.module, .head = head, .place = key});
        for (int64_t row = 0; row < softmax.output.size(2); ++row)
          cuts.push_back({.kind = Ablation::Kind::row, .module = softmax.module, .head = head, .place = row});
      }
    }
  }

  /// The module's weights when part of one head is ablated.
  Values cut_weights(const RecordedOp& softmax, const Ablation& cut) const {
    const Values scores = values_of(softmax.input);
    Values weights = softmax.value;
    const auto rows = static_cast<size_t>(softmax.output.size(2)), keys = static_cast<size_t>(softmax.output.size(3));
    const auto place = static_cast<size_t>(cut.place);
    for (size_t row = 0; row < rows; ++row) {
      const size_t start = (static_cast<size_t>(cut.head) * rows + row) * keys;
      const std::span<double> of_row(weights.data() + start, keys);
      if (cut.kind == Ablation::Kind::head) {
        std::ranges::fill(of_row, 0);
      } else if (cut.kind == Ablation::Kind::key) {
        of_row[place] = 0;
        const double rest = std::accumulate(of_row.begin(), of_row.end(), 0.0);
        for (double& weight : of_row) weight = rest > 0 ? weight / rest : 0;
      } else if (row == place) {
        const auto seen = std::count_if(scores.begin() + static_cast<int64_t>(start),
                                        scores.begin() + static_cast<int64_t>(start + keys),
                                        [](double score) { return std::isfinite(score); });
        for (size_t key = 0; key < keys; ++key)
          of_row[key] = std::isfinite(scores[start + key]) ? 1.0 / static_cast<double>(seen) : 0;
      }
    }
    return weights;
  }

  /// Runs with other values for one step; returns the change of each output and the output of the watched step.
  std::pair<std::vector<double>, Tensor> patched(size_t place, const Values& values, int64_t watched) {
    if (options_.progress) options_.progress(done_, runs_);
    ++done_;
    const Tensor& whole = steps_[place].output;
    const EnableGrad recording;
    const Composed composed;
    const OutputEdits patch(
        {replaced_output(static_cast<int64_t>(place), from_vector(values, whole.shape(), whole.options()))}, watched);
    std::vector<double> effects = values_of(study_.run());
    for (size_t i = 0; i < effects.size(); ++i) effects[i] -= base_[i];
    return {std::move(effects), patch.seen()};
  }

  void run(Nudge& nudge) {
    const auto place = static_cast<size_t>(nudge.recorded);
    const size_t flat = flat_of(nudge);
    nudge.effects.resize(base_.size());
    for (const double change : nudge.changes) {
      Values values = steps_[place].value;
      values[flat] += change;
      const std::vector<double> effects = patched(place, values, -1).first;
      for (size_t i = 0; i < effects.size(); ++i) nudge.effects[i].push_back(effects[i]);
    }
  }

  void run(Ablation& cut) {
    const auto of = std::ranges::find_if(
        attention_, [&](const Attention& attention) { return steps_[attention.softmax].module == cut.module; });
    const RecordedOp& softmax = steps_[of->softmax];
    const Values weights = cut_weights(softmax, cut);
    const auto [effects, seen] = patched(of->softmax, weights, of->output);
    cut.effects = effects;
    for (const Values& gradient : softmax.gradients) {
      double predicted = 0;
      for (size_t i = 0; i < gradient.size(); ++i) predicted += gradient[i] * (weights[i] - softmax.value[i]);
      cut.predicted.push_back(predicted);
    }
    const Values before = steps_[static_cast<size_t>(of->output)].value, after = values_of(seen);
    double moved = 0, size = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      moved += (after[i] - before[i]) * (after[i] - before[i]);
      size += before[i] * before[i];
    }
    cut.moved = size > 0 ? std::sqrt(moved / size) : 0;
  }

  const Study& study_;
  const NudgeOptions& options_;
  const RunInF64 in_double_;
  std::vector<RecordedOp> steps_;
  Tensors outputs_;  // until their gradients are computed
  std::vector<double> base_;
  std::vector<Attention> attention_;
  std::vector<size_t> taken_;  // steps whose elements are weights or scores
  int64_t heads_ = 0, done_ = 0, runs_ = 0;
};

}  // namespace

Nudges run_nudges(const Study& study, const NudgeOptions& options) {
  if (!study.run) raise(ErrorKind::config, "nudges: the study has no function to run");
  if (options.weights < 0 || options.activations < 0)
    raise(ErrorKind::config, "nudges: weights {} and activations {} must be 0 or more", options.weights,
          options.activations);
  return NudgeRunner(study, options).all();
}

}  // namespace tape::inspect
