#include "autograd/gradcheck/run.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/blame.h"
#include "autograd/gradcheck/perturbed.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/tape.h"

namespace tape::detail {
namespace {

/// Number of elements examined of a wrong gradient that was checked along directions.
constexpr int64_t kSample = 64;
/// Relative length of the error for which the probability of missing it is stated.
constexpr double kNotable = 0.01;

/// Finds out whether a function runs a backward pass, as a gradient penalty does.
class BackwardObserver : public Observer {
 public:
  bool found = false;

 private:
  void on_backward(const Node&) override { found = true; }
};

/// The function may return a view of its input, so results are copied before the next move.
Tensors kept(const Tensors& outputs, const Tensor& variable) {
  Tensors kept;
  for (const Tensor& output : outputs)
    kept.push_back(output.shares_storage(variable) ? output.detach().clone() : output);
  return kept;
}

}  // namespace

Tensors GradcheckRun::evaluate(bool record) {
  random_.rewind();
  const EnableGrad mode(record || differentiates_);
  const BackwardObserver inner;
  Tensors outputs = f_();
  differentiates_ = differentiates_ || inner.found;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) raise(ErrorKind::graph, "gradcheck: the function returned an undefined tensor");
    if (outputs[i].dtype() != f64)
      raise(ErrorKind::dtype, "gradcheck: the output must be f64, got {}{}", to_string(outputs[i].dtype()),
            single_.f ? "; pass .shadow, the same function in f64" : "");
    if (!outputs_.empty() && !(outputs[i].shape() == outputs_[i].shape()))
      raise(ErrorKind::shape, "gradcheck: the function returned {} first and {} now", to_string(outputs_[i].shape()),
            to_string(outputs[i].shape()));
    outputs[i] = outputs[i].to(cpu);  // values are compared on the host
  }
  return outputs;
}

/// Returns the f32 outputs, recorded. They must match the shadow's.
Tensors GradcheckRun::evaluate_single() {
  random_.rewind();
  const EnableGrad recording;
  Tensors outputs = single_.f();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) raise(ErrorKind::graph, "gradcheck: the function returned an undefined tensor");
    if (!is_floating(outputs[i].dtype()) || !(outputs[i].shape() == outputs_[i].shape()))
      raise(ErrorKind::shape, "gradcheck: the function returned {} {}, its f64 shadow {}",
            to_string(outputs[i].dtype()), to_string(outputs[i].shape()), to_string(outputs_[i].shape()));
    const std::vector<double> given = cast(outputs[i].detach(), f64).to_vector<double>();
    const double* expected = outputs_[i].data<double>();
    double largest = 0;
    for (size_t j = 0; j < given.size(); ++j)
      if (std::isfinite(expected[j])) largest = std::max(largest, std::abs(expected[j]));
    for (size_t j = 0; j < given.size(); ++j)
      if (std::abs(given[j] - expected[j]) > rtol_ * std::abs(expected[j]) + atol_ * largest)
        raise(ErrorKind::numeric,
              "gradcheck: the f64 shadow is a different function: element {} of {} is {} in f32, {} in f64", j,
              to_string(outputs[i].shape()), given[j], expected[j]);
  }
  return outputs;
}

void GradcheckRun::make_head() {
  outputs_ = evaluate(true);
  Generator stream(options_.seed);
  for (const Tensor& output : outputs_) head_.push_back(randn(output.shape(), {f64, cpu}, stream));
  const Tensors again = evaluate(false);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const double* first = outputs_[i].data<double>();
    const double* second = again[i].data<double>();
    for (int64_t j = 0; j < outputs_[i].numel(); ++j)
      if (first[j] != second[j] && !(std::isnan(first[j]) && std::isnan(second[j])))
        raise(ErrorKind::numeric, "gradcheck: the function returned {} and then {} for the same inputs", first[j],
              second[j]);
  }
}

Tensors GradcheckRun::analytic_gradients() {
  const Tensors outputs = single_.f ? evaluate_single() : outputs_;
  Tensors reached, seeds, leaves = single_.leaves;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    reached.push_back(outputs[i]);
    seeds.push_back(head_[i].to(outputs[i].options()));
  }
  if (!single_.f)
    for (const NamedTensor& variable : variables_) leaves.push_back(variable.tensor);
  Tensors gradients(leaves.size());
  if (!reached.empty() && !leaves.empty()) {
    random_.rewind();
    gradients = grad(reached, leaves, {.gradients = seeds, .allow_unused = true});
  }
  // Copies, because an output may be a view of a variable that is about to move.
  for (Tensor& output : outputs_) output = output.detach().clone();
  for (size_t i = 0; i < leaves.size(); ++i)
    gradients[i] = gradients[i].defined() ? gradients[i].to({f64, cpu}) : zeros(leaves[i].shape(), {f64, cpu});
  return gradients;
}

std::vector<int64_t> GradcheckRun::choose_elements(int64_t numel, int64_t most) const {
  Generator stream(options_.seed);
  const bool sample = most > 0 && numel > most;
  // With a time limit the order is random, so that the elements checked in time are a random sample.
  const bool shuffled = sample || options_.max_seconds > 0;
  std::vector<int64_t> elements = (shuffled ? randperm(numel, stream) : arange(numel)).to_vector<int64_t>();
  if (sample) elements.resize(static_cast<size_t>(most));
  return elements;
}

void GradcheckRun::start_clock(size_t variable) {
  if (options_.max_seconds == 0) return;
  const auto end =
      started_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.max_seconds));
  const Clock::time_point now = Clock::now();
  deadline_ = now + std::max(end - now, Clock::duration{}) / (std::ssize(variables_) - static_cast<int64_t>(variable));
}

bool GradcheckRun::time_is_up() { return options_.max_seconds > 0 && Clock::now() >= deadline_; }

Slopes GradcheckRun::slopes(const Tensor& variable, int64_t element, double step) {
  Perturbed x(variable, element);
  // The actual step, because x + h and x - h are rounded.
  const double up = x.value() + step, down = x.value() - step;
  x.move_to(up);
  const Tensors above = kept(evaluate(false), variable);
  x.move_to(down);
  return slopes_of(above, outputs_, evaluate(false), head_, up - x.value(), x.value() - down,
                   std::max(1.0, std::abs(x.value())));
}

Slopes GradcheckRun::slopes_along(const Tensor& variable, const Tensor& direction, double step) {
  PerturbedAlong x(variable, direction);
  x.move_to(step);
  const Tensors above = kept(evaluate(false), variable);
  x.move_to(-step);
  return slopes_of(above, outputs_, evaluate(false), head_, step, step);
}

ComparedGradient GradcheckRun::compare(const NamedTensor& variable, const Tensor& gradient, int64_t most) {
  ComparedGradient result{.name = variable.name,
                          .shape = variable.tensor.shape(),
                          .elements = choose_elements(variable.tensor.numel(), most),
                          .analytic = gradient.to_vector<double>()};
  const size_t chosen = result.elements.size();
  const auto settle = [&](size_t checked) {
    const int64_t element = result.elements[checked];
    return settle_slope(result.analytic_of(checked), point(variable.tensor, element).step, rtol_,
                        [&](double size) { return slopes(variable.tensor, element, size); });
  };
  const auto verify = [&](size_t checked, const SettledSlope& first) {
    const int64_t element = result.elements[checked];
    return verify_slope(result.analytic_of(checked), first, point(variable.tensor, element), rtol_,
                        [&](double size) { return slopes(variable.tensor, element, size); });
  };
  result.compare(rtol_, atol_, settle, verify, [this] { return time_is_up(); });
  out_of_time_ = out_of_time_ || result.elements.size() < chosen;
  return result;
}

/// An error e of the gradient appears along a random normal direction v as e v, normal with deviation |e|. It is missed
/// if |e v| is within the tolerance, which has probability erf(allowed / (|e| sqrt 2)), independently for each v.
GradcheckResult GradcheckRun::compare_along(const NamedTensor& variable, const Tensor& gradient) {
  GradcheckResult result;
  result.name = variable.name;
  result.shape = variable.tensor.shape();
  result.checked = result.directions = options_.directions;
  const double* g = gradient.data<double>();
  const std::vector<double> x = variable.tensor.to_vector<double>();
  const int64_t numel = variable.tensor.numel();
  double length = 0, mean_square = 0;
  for (int64_t i = 0; i < numel; ++i) length += g[i] * g[i];
  for (const double value : x) mean_square += value * value / static_cast<double>(numel);
  length = std::sqrt(length);
  const double h = options_.eps * std::max(1.0, std::sqrt(mean_square));
  result.miss_chance = result.miss_element = length > 0 ? 1 : 0;
  Generator stream(options_.seed + 1);
  for (int64_t i = 0; i < options_.directions; ++i) {
    if (i > 0 && time_is_up()) {
      result.checked = result.directions = i;
      out_of_time_ = true;
      break;
    }
    const Tensor direction = randn(variable.tensor.shape(), {f64, cpu}, stream);
    double analytic = 0;
    for (int64_t j = 0; j < numel; ++j) analytic += g[j] * direction.data<double>()[j];
    const MeasureSlopes measure = [&](double size) { return slopes_along(variable.tensor, direction, size); };
    SettledSlope found = settle_slope(analytic, h, rtol_, measure, length);
    const auto is_off = [&] { return !(std::abs(analytic - found.numeric) <= (rtol_ + atol_) * length + found.noise); };
    if (found.kink || is_off()) found = verify_slope(analytic, found, {0, h}, rtol_, measure, length);
    const double allowed = (rtol_ + atol_) * length + found.noise, miss = std::abs(analytic - found.numeric);
    result.kinks += found.kink;
    result.undecided += !found.undecided.empty();
    if (!found.kink && found.undecided.empty() && length > 0) {
      result.miss_chance *= std::erf(allowed / (kNotable * length) / std::sqrt(2.0));
      result.miss_element *= std::erf(allowed * std::sqrt(static_cast<double>(numel)) / length / std::sqrt(2.0));
    }
    if (found.kink || !found.undecided.empty()) continue;
    if (found.wrong) ++result.wrong;
    const double size = std::max({length, std::abs(found.numeric), std::abs(analytic)});
    const double error = miss == 0 ? 0 : std::isfinite(miss) ? miss / size : INFINITY;
    if (error <= result.max_error) continue;
    result.max_error = error;
    result.analytic = analytic;
    result.numeric = found.numeric;
  }
  return result;
}

void GradcheckRun::explain(GradcheckResult& result, size_t which, const std::vector<ComparedGradient>& all) {
  const ComparedGradient& variable = all[which];
  if (result.directions > 0 && variable.wrong.empty() && !result.all_zero) {
    result.explanation =
        fmt::format("None of {} randomly chosen elements is wrong, so few elements are.", variable.elements.size());
    return;
  }
  const auto contributions = [&](size_t checked) {
    const Tensor& tensor = variables_[which].tensor;
    const int64_t element = variable.elements[checked];
    return slopes(tensor, element, point(tensor, element).step).parts;
  };
  result.explanation =
      explain_wrong(variable, all, outputs_.size() == 1 ? outputs_[0].shape() : Shape{}, contributions);
  if (result.directions > 0 && !result.all_zero)
    result.explanation =
        fmt::format("Of {} randomly chosen elements, {} {} wrong. {}", variable.elements.size(), variable.wrong.size(),
                    variable.wrong.size() == 1 ? "is" : "are", result.explanation);
}

GradcheckResult GradcheckRun::judge(size_t which, const std::vector<ComparedGradient>& all) {
  const ComparedGradient& variable = all[which];
  GradcheckResult result = along_[which].directions > 0 ? along_[which] : variable.result(rtol_);
  if (!variable.undecided.empty() && result.directions == 0)
    result.undecided_value = point(variables_[which].tensor, variable.elements[variable.undecided.front()]).value;
  if (!variable.large_steps.empty() && result.directions == 0) {
    const SlopePoint at = point(variables_[which].tensor, variable.elements[variable.large_steps.front()]);
    result.large_step_value = at.value;
    result.large_step = at.step;
  }
  const auto is_zero = [](double value) { return value == 0; };
  // A tape's zero at a kink is one of its slopes.
  result.all_zero = !variable.analytic.empty() && !may_be_zero(variable.name) && result.kinks + result.undecided == 0 &&
                    std::all_of(variable.analytic.begin(), variable.analytic.end(), is_zero);
  if (!result.ok()) explain(result, which, all);
  return result;
}

void GradcheckRun::find_guilty_operations(GradcheckReport& report) {
  const bool wrong = std::any_of(report.variables.begin(), report.variables.end(),
                                 [](const GradcheckResult& result) { return result.wrong > 0; });
  if (!wrong || !options_.blame || !can_find_guilty(variables_, report)) return;
  if (single_.f && options_.shadow) {
    report.blame = "Operations are not checked one by one for a function with its own f64 shadow.";
    return;
  }
  const Verdict verdict = find_guilty([this] { return evaluate(true); }, options_.seed, variables_);
  report.guilty = verdict.guilty;
  report.unrecorded = verdict.unrecorded;
  report.blame = verdict.text;
  if (single_.f && verdict.guilty.empty() && verdict.unrecorded.empty())
    report.blame =
        "In f64, every operation on the tape has the right gradient for its own inputs: the error occurs in f32 "
        "only.";
}

GradcheckReport GradcheckRun::run() {
  make_head();
  const Tensors gradients = analytic_gradients();
  std::vector<ComparedGradient> compared;
  for (size_t i = 0; i < variables_.size(); ++i) {
    along_.emplace_back();
    start_clock(i);
    if (options_.progress) options_.progress(static_cast<int64_t>(i), std::ssize(variables_), variables_[i].name);
    int64_t most = options_.max_elements;
    if (by_directions(variables_[i].tensor)) {
      along_[i] = compare_along(variables_[i], gradients[i]);
      // If every direction crosses a kink, nothing was compared, and a direction may be undecided even though most
      // elements are neither.
      const GradcheckResult& along = along_[i];
      if (along.kinks == along.checked || (along.wrong == 0 && along.undecided > 0)) along_[i] = {};
      most = kSample;
    }
    if (along_[i].directions > 0 && along_[i].ok())
      compared.push_back({.name = variables_[i].name,
                          .shape = variables_[i].tensor.shape(),
                          .analytic = gradients[i].to_vector<double>()});
    else
      compared.push_back(compare(variables_[i], gradients[i], most));
  }
  GradcheckReport report;
  for (size_t i = 0; i < compared.size(); ++i) report.variables.push_back(judge(i, compared));
  report.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  report.out_of_time = out_of_time_;
  find_guilty_operations(report);
  return report;
}

}  // namespace tape::detail
