#include "train/doctor/doctor.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "autograd/diagnose/anomaly.h"
#include "autograd/tape/op.h"
#include "base/error.h"
#include "nn/module/hook_scope.h"
#include "nn/module/training_mode.h"
#include "optim/clip.h"
#include "train/checkpoints/average.h"

namespace tape::train {
namespace {

constexpr int64_t kStepsWatched = 3;  // first steps: enough for gradients to reach every parameter that they can reach

std::vector<double> values_of(const Tensor& x) { return x.detach().to(f64).to_vector<double>(); }

/// Restores model, optimizer, random streams and modes. While in scope the model is in evaluation mode: dropout would
/// keep it from the minimal loss.
class StateGuard {
 public:
  StateGuard(nn::Module& model, optim::Optimizer& optimizer)
      : optimizer_(optimizer), mode_(model, false), weights_(model, {}), state_(optimizer) {}
  ~StateGuard() { optimizer_.zero_grad(); }
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  optim::Optimizer& optimizer_;
  const ForkRandom random_;
  const nn::TrainingModeGuard mode_;
  const ScopedWeights weights_;
  const optim::ScopedOptimizerState state_;
};

/// Detects ReLU units that are always 0, and modules whose output does not depend on their input.
class DeadWatch : public Observer {
 public:
  explicit DeadWatch(nn::Module& model) {
    for (auto& [name, module] : model.named_modules()) {
      if (name.empty()) continue;
      hooks_.forward(*module, [this, path = name](nn::Module&, const Tensors&, const Tensor& output) -> Tensor {
        see_output(path, output);
        return {};
      });
    }
  }

  void on_record(const Op& op, TensorList, TensorList outputs, AttributeList) override {
    if (!op.traits().is_relu_like || outputs[0].rank() == 0) return;
    const std::vector<double> values = values_of(outputs[0]);
    const auto units = static_cast<size_t>(outputs[0].size(-1));
    std::vector<bool> alive(units);
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != 0) alive[i % units] = true;
    const auto dead = std::count(alive.begin(), alive.end(), false);
    if (dead * 2 > static_cast<std::ptrdiff_t>(units))
      found_.insert(fmt::format("{}: {}: {} of {} units are always 0", ModuleScope::path(), op.name(), dead, units));
  }

  std::vector<std::string> found() const { return {found_.begin(), found_.end()}; }

 private:
  void see_output(const std::string& path, const Tensor& output) {
    if (!output.defined() || !is_floating(output.dtype()) || output.numel() < 2) return;
    const std::vector<double> values = values_of(output);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*low == *high) found_.insert(fmt::format("{}: every output is {}", path, *low));
  }

  std::set<std::string> found_;
  nn::HookScope hooks_;
};

/// Records which parameters received a gradient.
class GradientWatch {
 public:
  explicit GradientWatch(const nn::Module& model) {
    for (const NamedTensor& named : model.named_parameters())
      if (named.tensor.requires_grad()) parameters_.push_back(named);
  }
  void look() {
    for (const NamedTensor& named : parameters_) {
      const Tensor gradient = named.tensor.grad();
      if (!gradient.defined()) continue;
      reached_.insert(named.name);
      const std::vector<double> values = values_of(gradient);
      if (std::any_of(values.begin(), values.end(), [](double value) { return value != 0; })) moved_.insert(named.name);
    }
  }
  void report(Diagnosis& diagnosis) const {
    for (const NamedTensor& named : parameters_) {
      if (!reached_.contains(named.name))
        diagnosis.no_gradient.push_back(named.name);
      else if (!moved_.contains(named.name))
        diagnosis.zero_gradient.push_back(named.name);
    }
  }
  int64_t count() const { return std::ssize(parameters_); }

 private:
  std::vector<NamedTensor> parameters_;
  std::set<std::string> reached_, moved_;
};

struct Peak {
  double lr = 0;
  int64_t step = 0;
};

Peak peak_of(const optim::Schedule& schedule, int64_t steps) {
  Peak peak;
  for (int64_t step = 1; step <= steps; ++step)
    if (const double lr = schedule.lr_at(step); lr > peak.lr) peak = {lr, step};
  return peak;
}

void check(const DoctorOptions& o) {
  if (o.steps < 2) raise(ErrorKind::config, "doctor: steps must be at least 2, got {}", o.steps);
  if (o.lr && !(*o.lr > 0 && std::isfinite(*o.lr)))
    raise(ErrorKind::config, "doctor: lr must be a number > 0, got {}", *o.lr);
  if (o.schedule && o.total_steps < 1)
    raise(ErrorKind::config, "doctor: a schedule needs total_steps, the length of the run, got {}", o.total_steps);
  if (!(o.clip_norm >= 0)) raise(ErrorKind::config, "doctor: clip_norm must be at least 0, got {}", o.clip_norm);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

/// Runs the examination.
class Doctor {
 public:
  Doctor(nn::Module& model, optim::Optimizer& optimizer, const std::function<BatchLoss()>& learn,
         const DoctorOptions& options)
      : model_(model), optimizer_(optimizer), learn_(learn), options_(options), gradients_(model) {
    lr_ = options.lr         ? *options.lr
          : options.schedule ? peak_of(*options.schedule, options.total_steps).lr
                             : optimizer.lr();
    diagnosis_.floor = options.label_smoothing > 0 ? smoothed_floor(options.label_smoothing, options.classes) : 0;
  }

  Diagnosis examine() {
    overfit();
    gradients_.report(diagnosis_);
    report_loss();
    report_gradients();
    report_rate();
    report_verdict();
    return std::move(diagnosis_);
  }

 private:
  void overfit() {
    optim::WarmupSchedule schedule(optimizer_, {.lr = lr_, .warmup = std::max<int64_t>(options_.steps / 10, 1)});
    for (int64_t step = 1; step <= options_.steps; ++step, schedule.step()) {
      optimizer_.zero_grad();
      const bool last = step == options_.steps;
      double loss = 0;
      try {
        loss = last ? watched_loss() : backward();
        if (step <= kStepsWatched || last) gradients_.look();
        if (options_.clip_norm > 0) optim::clip_grad_norm(optimizer_.parameters(), options_.clip_norm);
        optimizer_.step();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::numeric) throw;
        loss = NAN;
      }
      if (step == 1) diagnosis_.first_loss = loss;
      diagnosis_.last_loss = loss;
      if (!std::isfinite(loss)) return find_fault(step);
    }
  }

  double backward() {
    const BatchLoss learned = learn_();
    learned.loss.backward();
    return learned.loss.item();
  }
  double watched_loss() {
    const DeadWatch watch(model_);
    const double loss = backward();
    diagnosis_.dead = watch.found();
    return loss;
  }
  void find_fault(int64_t step) {
    fault_ = fmt::format("step {}: NaN or infinity", step);
    try {
      const DetectAnomaly looking;
      backward();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::numeric) throw;
      fault_ += fmt::format(": {}", error.what());
    }
  }

  template <class... A>
  void report(fmt::format_string<A...> format, A&&... arguments) {
    diagnosis_.lines.push_back(fmt::format(format, std::forward<A>(arguments)...));
  }

  void report_loss() {
    report("loss on one batch: {:.4f} to {:.4f} in {} steps; the minimum is {:.4f}{}", diagnosis_.first_loss,
           diagnosis_.last_loss, options_.steps, diagnosis_.floor,
           options_.label_smoothing > 0 ? fmt::format(" (label smoothing {})", options_.label_smoothing) : "");
    if (!fault_.empty()) report("{}", fault_);
  }
  void report_gradients() {
    if (diagnosis_.no_gradient.empty() && diagnosis_.zero_gradient.empty())
      report("gradients reach all {} trainable parameters", gradients_.count());
    if (!diagnosis_.no_gradient.empty())
      report("no gradient reaches {} of {} parameters: {}", diagnosis_.no_gradient.size(), gradients_.count(),
             listed(diagnosis_.no_gradient));
    if (!diagnosis_.zero_gradient.empty())
      report("the gradient of {} of {} parameters is zero: {}", diagnosis_.zero_gradient.size(), gradients_.count(),
             listed(diagnosis_.zero_gradient));
    for (const std::string& line : diagnosis_.dead) report("dead: {}", line);
    if (diagnosis_.dead.empty() && fault_.empty()) report("no dead layers found");
  }
  void report_rate() {
    if (!options_.schedule) return report("learning rate: {:.2e}, without a schedule", lr_);
    const Peak peak = peak_of(*options_.schedule, options_.total_steps);
    const double share = static_cast<double>(peak.step) / static_cast<double>(options_.total_steps);
    report("learning rate: {:.2e} at step 1, peak {:.2e} at step {} of {}", options_.schedule->lr_at(1), peak.lr,
           peak.step, options_.total_steps);
    if (peak.step == options_.total_steps && options_.total_steps > 1 && options_.schedule->lr_at(1) < peak.lr)
      report("the learning rate is still rising at the last step: the warm-up is longer than the run");
    else if (share > 0.5)
      report("the warm-up takes {:.0f}% of the run: shorten it, or train longer", 100 * share);
  }
  void report_verdict() {
    const double room = diagnosis_.first_loss - diagnosis_.floor;
    const double share = room > 0 ? (diagnosis_.first_loss - diagnosis_.last_loss) / room : 1;
    diagnosis_.can_learn = fault_.empty() && share >= 0.5;
    const bool all_reached = diagnosis_.no_gradient.empty() && diagnosis_.zero_gradient.empty();
    const char* but = all_reached ? "" : ", but check the parameters without a gradient";
    if (!fault_.empty())
      report("verdict: it cannot learn: values overflow or become NaN at learning rate {:.2e}", lr_);
    else if (share >= 0.9)
      report("verdict: it can learn: the model fits the batch almost perfectly{}", but);
    else if (share >= 0.5)
      report("verdict: it learns slowly: {:.0f}% of the possible decrease in {} steps{}", 100 * share, options_.steps,
             but);
    else if (share < 0.005)
      report(
          "verdict: it does not learn: the loss does not fall; try a learning rate other than {:.2e}, and check the "
          "loss and the labels",
          lr_);
    else
      report("verdict: it hardly learns: {:.0f}% of the possible decrease in {} steps at learning rate {:.2e}{}",
             100 * share, options_.steps, lr_, but);
  }

  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const std::function<BatchLoss()>& learn_;
  const DoctorOptions& options_;
  GradientWatch gradients_;
  double lr_ = 0;
  std::string fault_;
  Diagnosis diagnosis_;
};

}  // namespace

double smoothed_floor(double label_smoothing, int64_t classes) {
  if (!(label_smoothing >= 0 && label_smoothing <= 1))
    raise(ErrorKind::config, "doctor: label_smoothing must be from 0 to 1, got {}", label_smoothing);
  if (classes < 1) raise(ErrorKind::config, "doctor: label smoothing needs the number of classes, got {}", classes);
  const double other = label_smoothing / static_cast<double>(classes), own = 1 - label_smoothing + other;
  const auto cost = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  return cost(own) + static_cast<double>(classes - 1) * cost(other);
}

Diagnosis overfit_one_batch(nn::Module& model, optim::Optimizer& optimizer, const std::function<BatchLoss()>& learn,
                            const DoctorOptions& options) {
  check(options);
  const StateGuard guard(model, optimizer);
  return Doctor(model, optimizer, learn, options).examine();
}

}  // namespace tape::train
