// Steps on a GPU whose loss and norm the host reads when the next step has been launched.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "autograd/device_checks.h"
#include "train/trainer/step.h"

namespace tape::train {

bool Stepper::reads_later() const {
  return !distributed_ && !options_.step_in_backward &&
         options_.accumulate * options_.parts <= optim::StepReport::kMostLosses &&
         optim::StepReport::is_possible(optimizer_.parameters());
}

/// As learn_from() in a single process, but the loss is returned without being read; undefined without examples.
Tensor Stepper::learn_unread(const BatchSource::Item& item, const Learn& learn, std::vector<int64_t>& tokens) {
  const MatmulPrecisionScope precision(options_.precision);
  if (!item.batch) return {};
  const BatchLoss learned = learn_and_check(item.batch.get(), learn);
  run_backward(learned);
  tokens.push_back(learned.tokens);
  tokens_ += learned.tokens;
  return learned.loss.detach();
}

void Stepper::step_unread(int64_t step, BatchSource& source, const Learn& learn, const RandomState& random) {
  begin();
  Tensors losses;
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < options_.accumulate * options_.parts; ++i) {
    give_up_if_asked(source, random);
    batches_.push_back(source.next());
    if (const Tensor loss = learn_unread(batches_.back(), learn, tokens); loss.defined()) losses.push_back(loss);
  }
  const double mean = one_batch() ? 1 : 1 / static_cast<double>(tokens_), lr = optimizer_.lr();
  optim::StepReport report(optimizer_.parameters(), losses, {.mean = mean, .max_norm = options_.clip_norm});
  optimizer_.step({.scale_on_device = report.scale(), .known_finite = true});
  report.send();
  drop_gradients();
  const int64_t schedule_step = options_.schedule ? options_.schedule->last_step() : 0;
  if (options_.schedule) options_.schedule->step();
  const StepEvent event = event_of(step, lr);
  unread_.emplace(
      Unread{std::move(report), event, std::exchange(batches_, {}), std::move(tokens), random, schedule_step});
}

std::optional<StepEvent> Stepper::read(const Learn& learn) {
  if (!unread_) return std::nullopt;
  Unread unread = std::move(*unread_);
  unread_.reset();
  const optim::StepReport::Values values = unread.report.receive();
  if (!values.is_finite()) stop_unread(unread, values.losses, learn);
  unread.event.grad_norm = values.norm;
  double sum = 0;
  for (size_t i = 0; i < values.losses.size(); ++i) sum += values.losses[i] * static_cast<double>(unread.tokens[i]);
  unread.event.loss = sum / static_cast<double>(unread.event.tokens);
  return unread.event;
}

/// Ends the run at a step with values that are not finite, as if the step had not been made.
void Stepper::stop_unread(const Unread& unread, const std::vector<double>& losses, const Learn& learn) {
  begin();
  if (options_.schedule) options_.schedule->set_last_step(unread.schedule_step);
  const auto bad = std::ranges::find_if(losses, [](double loss) { return !std::isfinite(loss); });
  for (auto left = bad - losses.begin(); const BatchSource::Item& item : unread.batches) {
    batches_.push_back(item);
    if (item.batch && bad != losses.end() && left-- == 0) break;
  }
  const char* const what = bad == losses.end() ? "a gradient is not finite" : fault_of_loss(*bad);
  stop(what, unread.event.step, learn, unread.random);
}

}  // namespace tape::train
