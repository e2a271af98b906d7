#include "autograd/gradcheck/unrecorded_reads.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/recorded_call.h"
#include "autograd/gradcheck/scoped_values.h"
#include "autograd/gradcheck/slopes.h"
#include "autograd/tape/op.h"

namespace tape::detail {
namespace {

constexpr double kMove = 1e-6;
constexpr double kCloser = 8;
/// Up to this many variables are tracked individually.
constexpr size_t kVariables = 32;

/// Values of a step in one run.
struct StepValues {
  Tensors slots, constants, outputs;
  Attributes attributes;
};
using RunValues = std::vector<StepValues>;

/// Saves the values of each step of a run, as long as it records the same operations as the first run.
class Follower : public Observer {
 public:
  explicit Follower(const std::vector<RecordedStep>& steps) : steps_(steps) {}

  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override {
    same_ = same_ && values_.size() < steps_.size() && steps_[values_.size()].op == &op &&
            steps_[values_.size()].inputs.size() == inputs.size();
    if (!same_) return;
    const RecordedStep& step = steps_[values_.size()];
    StepValues& kept = values_.emplace_back();
    for (const RecordedStep::Slot& slot : step.slots) kept.slots.push_back(inputs[slot.inputs.front()].detach());
    for (const RecordedStep::Constant& constant : step.constants)
      kept.constants.push_back(inputs[constant.input].detach());
    for (const Tensor& output : outputs) kept.outputs.push_back(output.detach());
    kept.attributes = Attributes(attributes);
  }

  std::optional<RunValues> values() {
    if (!same_ || values_.size() != steps_.size()) return {};
    return std::move(values_);
  }

 private:
  const std::vector<RecordedStep>& steps_;
  RunValues values_;
  bool same_ = true;
};

/// Returns "[3]", or the position in a list of attributes.
struct Changed {
  std::vector<size_t> constants;
  std::vector<std::string> attributes;
  bool empty() const { return constants.empty() && attributes.empty(); }
};

Changed changes(const StepValues& a, const StepValues& b) {
  Changed changed;
  for (size_t i = 0; i < a.constants.size(); ++i)
    if (!same_values(a.constants[i], b.constants[i])) changed.constants.push_back(i);
  for (const Attribute& attribute : a.attributes) {
    const AttributeValue* other = b.attributes.find(attribute.name);
    if (!other || !(*other == attribute.value)) changed.attributes.emplace_back(attribute.name);
  }
  return changed;
}

double dot_difference(const Tensor& g, const Tensor& a, const Tensor& b, double& squares) {
  double sum = 0;
  for (int64_t i = 0; i < g.numel(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    const double part = x == y ? 0 : g.data<double>()[i] * (x - y);
    sum += part;
    squares += part * part;
  }
  return sum;
}

class Finder {
 public:
  Finder(const std::function<Tensors()>& f, const Replay& replay, const RunGradients& gradients,
         const std::vector<NamedTensor>& variables)
      : f_(f), replay_(replay), gradients_(gradients), variables_(variables) {
    Generator stream(29);
    for (const NamedTensor& variable : variables) directions_.push_back(direction_of(variable.tensor, stream));
    for (size_t k = 0; k < steps().size(); ++k)
      own_.push_back(gradients.arrived[k].empty() ? Tensors{}
                                                  : own_gradients(steps()[k], *steps()[k].node, gradients.arrived[k]));
  }

  std::string not_finite() const;
  std::vector<UnrecordedRead> reads(const std::vector<GuiltyOperation>& guilty);

 private:
  /// Returns the part of a step's change that its gradients do not explain; 0 if rounding does.
  struct Part {
    double value = 0;
    Changed changed;
  };

  static Tensor direction_of(const Tensor& x, Generator& stream);
  std::optional<RunValues> run(double by, std::optional<size_t> only = {});
  std::optional<std::vector<Part>> parts(double by);
  Part part(size_t step, const StepValues& up, const StepValues& down, double by) const;
  StepValues first_values(size_t step) const;
  std::vector<UnrecordedRead> kept_from_earlier_calls();
  std::vector<UnrecordedRead> describe(size_t step, const Changed& changed) const;
  std::string origin_of(const Tensor& constant) const;
  void name_variables(std::vector<UnrecordedRead>& reads, const std::vector<std::pair<size_t, Changed>>& of);

  const std::vector<RecordedStep>& steps() const { return replay_.steps(); }

  const std::function<Tensors()>& f_;
  const Replay& replay_;
  const RunGradients& gradients_;
  const std::vector<NamedTensor>& variables_;
  Tensors directions_;
  std::vector<Tensors> own_;  // each step's gradients for the gradients that arrive
};

/// Returns a random direction; small values move by a fraction of themselves, so that they do not cross zero.
Tensor Finder::direction_of(const Tensor& x, Generator& stream) {
  Tensor direction = randn(x.shape(), f64, stream);
  double* v = direction.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double size = std::abs(x.data<double>()[i]);
    v[i] *= !std::isfinite(size) ? 0 : size > 0 && size < 1e-3 ? size : std::max(1.0, size);
  }
  return direction;
}

/// Returns the values of each step when all variables, or one of them, are moved.
std::optional<RunValues> Finder::run(double by, std::optional<size_t> only) {
  std::vector<std::unique_ptr<ScopedValues>> moved;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (by == 0 || (only && *only != i)) continue;
    Tensor values = variables_[i].tensor.detach().clone();
    double* x = values.mutable_data<double>();
    for (int64_t j = 0; j < values.numel(); ++j) x[j] += by * directions_[i].data<double>()[j];
    moved.push_back(std::make_unique<ScopedValues>());
    moved.back()->take(variables_[i].tensor, values);
  }
  Follower follower(steps());
  f_();
  return follower.values();
}

Finder::Part Finder::part(size_t step, const StepValues& up, const StepValues& down, double by) const {
  Part part{0, changes(up, down)};
  const Tensors& arrived = gradients_.arrived[step];
  if (arrived.empty()) return part;
  const Slopes slopes = slopes_of(up.outputs, steps()[step].outputs, down.outputs, arrived, by, by);
  double explained = 0, squares = 0;
  for (size_t i = 0; i < own_[step].size(); ++i) {
    if (!has_edge(steps()[step].slots[i].tensor, replay_.start())) continue;
    explained += dot_difference(own_[step][i], up.slots[i], down.slots[i], squares) / (2 * by);
  }
  for (const double through : slopes.parts) squares += through * through * 4 * by * by;
  const double size = std::sqrt(squares) / (2 * by);
  const double rest = slopes.central - explained;
  if (std::isfinite(rest) && std::abs(rest) > kBlameTolerance * size + 4 * slopes.noise) part.value = rest;
  return part;
}

std::optional<std::vector<Finder::Part>> Finder::parts(double by) {
  const std::optional<RunValues> up = run(by), down = run(-by);
  if (!up || !down) return {};
  std::vector<Part> all;
  for (size_t k = 0; k < steps().size(); ++k) all.push_back(part(k, (*up)[k], (*down)[k], by));
  return all;
}

std::string Finder::not_finite() const {
  const auto all_finite = [](const Tensors& tensors) {
    for (const Tensor& tensor : tensors)
      for (int64_t i = 0; tensor.defined() && i < tensor.numel(); ++i)
        if (!std::isfinite(tensor.data<double>()[i])) return false;
    return true;
  };
  for (size_t k = steps().size(); k-- > 0;) {
    if (own_[k].empty() || all_finite(own_[k]) || !all_finite(gradients_.arrived[k])) continue;
    return describe_call(steps()[k]);
  }
  return "";
}

/// Describes a constant that shares memory with a tensor on the tape.
std::string Finder::origin_of(const Tensor& constant) const {
  for (const NamedTensor& variable : variables_)
    if (constant.shares_storage(variable.tensor)) return fmt::format("it is a detach() of {}", variable.name);
  for (size_t k = 0; k < steps().size(); ++k)
    for (const Tensor& output : steps()[k].outputs)
      if (constant.shares_storage(output))
        return fmt::format("it is a detach() of the output of '{}'", steps()[k].op->name());
  return "it comes from detach(), a NoGrad scope, data() or item()";
}

std::vector<UnrecordedRead> Finder::describe(size_t step, const Changed& changed) const {
  std::vector<UnrecordedRead> reads;
  const auto add = [&](std::string value, std::string origin) {
    reads.push_back(describe_step<UnrecordedRead>(steps()[step], step));
    reads.back().value = std::move(value);
    reads.back().origin = std::move(origin);
  };
  for (const size_t i : changed.constants) {
    const RecordedStep::Constant& constant = steps()[step].constants[i];
    add(fmt::format("input {} {}", constant.input, to_string(constant.tensor.shape())), origin_of(constant.tensor));
  }
  for (const std::string& name : changed.attributes)
    add(fmt::format("its attribute {}", name), "it comes from data() or item()");
  if (changed.empty()) add("a value that is not among its inputs", "its function reads it");
  return reads;
}

/// The inputs of a step in the first run other than its slots.
StepValues Finder::first_values(size_t step) const {
  StepValues first{{}, {}, {}, steps()[step].node->attributes};
  for (const RecordedStep::Constant& constant : steps()[step].constants) first.constants.push_back(constant.values);
  return first;
}

/// Moves one variable at a time.
void Finder::name_variables(std::vector<UnrecordedRead>& reads, const std::vector<std::pair<size_t, Changed>>& of) {
  const auto contains = [](const auto& all, const auto& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (size_t v = 0; v < variables_.size() && variables_.size() <= kVariables; ++v) {
    const std::optional<RunValues> values = run(kMove, v);
    for (size_t i = 0; values && i < reads.size(); ++i) {
      const auto& [step, one] = of[i];
      const Changed all = changes((*values)[step], first_values(step));
      if ((!one.constants.empty() && contains(all.constants, one.constants.front())) ||
          (!one.attributes.empty() && contains(all.attributes, one.attributes.front())))
        reads[i].variables.push_back(variables_[v].name);
    }
  }
}

/// Finds constants that differ from the first run after a call with other values.
std::vector<UnrecordedRead> Finder::kept_from_earlier_calls() {
  run(kMove);
  const std::optional<RunValues> after = run(0);
  run(0);
  std::vector<UnrecordedRead> reads;
  for (size_t k = 0; after && k < steps().size(); ++k) {
    const Changed changed = changes((*after)[k], first_values(k));
    if (changed.empty() || gradients_.arrived[k].empty()) continue;
    for (UnrecordedRead& read : describe(k, changed)) {
      read.origin = "it was saved in an earlier call";
      reads.push_back(std::move(read));
    }
  }
  return reads;
}

std::vector<UnrecordedRead> Finder::reads(const std::vector<GuiltyOperation>& guilty) {
  if (std::vector<UnrecordedRead> kept = kept_from_earlier_calls(); !kept.empty()) return kept;
  const auto far = parts(kMove), near = parts(kMove / kCloser);
  if (!far || !near) return {};
  std::vector<UnrecordedRead> reads;
  std::vector<std::pair<size_t, Changed>> of;
  for (size_t k = 0; k < steps().size(); ++k) {
    const double first = (*far)[k].value, second = (*near)[k].value;
    if (first == 0 || !(std::abs(first - second) <= 0.3 * std::abs(first))) continue;
    const Changed& changed = (*far)[k].changed;
    const bool is_guilty = std::any_of(guilty.begin(), guilty.end(),
                                       [&](const auto& one) { return one.place == static_cast<int64_t>(k); });
    if (changed.empty() && (!steps()[k].custom || is_guilty)) continue;
    for (UnrecordedRead& read : describe(k, changed)) reads.push_back(std::move(read));
    for (const size_t i : changed.constants) of.push_back({k, {{i}, {}}});
    for (const std::string& name : changed.attributes) of.push_back({k, {{}, {name}}});
    if (changed.empty()) of.push_back({k, {}});
  }
  if (!reads.empty()) name_variables(reads, of);
  return reads;
}

}  // namespace

UnrecordedReads find_unrecorded_reads(const std::function<Tensors()>& f, const Replay& replay,
                                      const RunGradients& gradients, const std::vector<NamedTensor>& variables,
                                      const std::vector<GuiltyOperation>& guilty) {
  Finder finder(f, replay, gradients, variables);
  return {finder.reads(guilty), finder.not_finite()};
}

}  // namespace tape::detail
