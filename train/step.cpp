#include "train/step.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/diagnose/anomaly.h"
#include "autograd/tape/scope.h"
#include "base/error.h"
#include "optim/clip.h"
#include "train/checkpoint.h"

namespace tape::train {
namespace {

Learned checked(Learned learned) {
  if (!learned.loss.defined()) raise(ErrorKind::config, "learn: the loss is undefined");
  if (learned.tokens < 1)
    raise(ErrorKind::config, "learn: the number of tokens must be at least 1, got {}", learned.tokens);
  return learned;
}

/// "epoch 0, batch 11" or "epoch 0, batch 8 to epoch 0, batch 11"
std::string place_of(const std::vector<BatchSource::Item>& batches) {
  const auto name = [](const DataPosition& at) { return fmt::format("epoch {}, batch {}", at.epoch, at.batch); };
  if (batches.size() == 1) return name(batches.front().position);
  return fmt::format("{} to {}", name(batches.front().position), name(batches.back().position));
}

bool is_finite(const Tensor& gradient) {
  double squares = 0;
  for (const double value : gradient.detach().to(f64).to_vector<double>()) squares += value * 0;
  return squares == 0;
}

}  // namespace

/// The batch's loss; its gradient is added as that of the sum over its tokens where there are several batches.
double Stepper::learn_from(const BatchSource::Item& item, const Learn& learn) {
  const MatmulPrecisionScope precision(options_.precision);
  const Learned learned = checked(learn(item.batch.get()));
  const double loss = learned.loss.item();
  if (!std::isfinite(loss)) return loss;
  const double weight = options_.accumulate == 1 ? 1 : static_cast<double>(learned.tokens);
  learned.loss.backward({.gradient = full(learned.loss.shape(), weight, learned.loss.dtype())});
  tokens_ += learned.tokens;
  return loss * static_cast<double>(learned.tokens);
}

StepEvent Stepper::step(int64_t step, BatchSource& source, const Learn& learn) {
  const RandomState random = random_state();
  batches_.clear();
  tokens_ = 0;
  optimizer_.zero_grad();
  double loss_sum = 0;
  const auto stop = [&](const std::string& what) {
    set_random_state(random);
    diagnose(what, step, learn);
  };
  for (int64_t i = 0; i < options_.accumulate; ++i) {
    batches_.push_back(source.next());
    const double loss = learn_from(batches_.back(), learn);
    if (!std::isfinite(loss)) stop(std::isnan(loss) ? "the loss is NaN" : "the loss is infinite");
    loss_sum += loss;
  }
  // Of several batches the gradients are sums over tokens so far.
  const double mean = options_.accumulate > 1 ? 1 / static_cast<double>(tokens_) : 1;
  double norm = 0;
  try {
    norm = mean * optim::grad_norm(optimizer_.parameters());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    stop("a gradient is not finite");
  }
  const double lr = optimizer_.lr(), clip = options_.clip_norm > 0 ? optim::clip_scale(norm, options_.clip_norm) : 1;
  optimizer_.step({.gradient_scale = mean * clip, .known_finite = true});
  optimizer_.zero_grad();
  if (options_.schedule) options_.schedule->step();
  const BatchSource::Item& last = batches_.back();
  const StepEvent event{.step = step,
                        .epoch = static_cast<double>(last.position.epoch) +
                                 static_cast<double>(last.position.batch + 1) / static_cast<double>(last.batches),
                        .loss = loss_sum / static_cast<double>(tokens_),
                        .lr = lr,
                        .grad_norm = norm,
                        .tokens = tokens_};
  batches_.clear();
  return event;
}

/// Runs the step's batches again, as they ran, and looks at every value on the way.
std::string Stepper::find_fault(const Learn& learn) {
  optimizer_.zero_grad();
  for (const NamedTensor& named : model_.named_parameters())
    if (!is_finite(named.tensor)) return fmt::format("the parameter {} holds NaN or infinity", named.name);
  try {
    const DetectAnomaly looking;
    for (const BatchSource::Item& item : batches_)
      if (!std::isfinite(learn_from(item, learn))) return "the loss is not on the tape, or not made by operations";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    return error.what();
  }
  for (const NamedTensor& named : model_.named_parameters())
    if (named.tensor.grad().defined() && !is_finite(named.tensor.grad()))
      return fmt::format("the sum of finite gradients of {} overflowed", named.name);
  return "a second run of the same batch gave finite values: learn depends on something that changed";
}

void Stepper::diagnose(const std::string& what, int64_t step, const Learn& learn) {
  const ForkRandom random;
  const std::string fault = find_fault(learn);
  optimizer_.zero_grad();
  Error error(ErrorKind::numeric,
              fmt::format("step {}, {}: {}: {}; nothing was updated", step, place_of(batches_), what, fault));
  throw error;
}

}  // namespace tape::train
