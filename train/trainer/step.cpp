#include "train/trainer/step.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/diagnose/anomaly.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/trace.h"
#include "autograd/transforms/rematerialize.h"
#include "base/error.h"
#include "nn/module/unregistered_leaves.h"
#include "optim/clip.h"

namespace tape::train {
namespace {

BatchLoss checked(BatchLoss learned) {
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

/// A rank's random streams in a step, seeded by (seed, rank, step), of 2^40 values each. The run's own streams are not
/// used, so that one state per checkpoint is enough.
RandomState streams_of(const RandomState& run, int rank, int64_t step) {
  RandomState own = run;
  for (Generator& stream : own) {
    // SplitMix64 (Steele et al. 2014): gives neighboring ranks unrelated seeds.
    uint64_t seed = stream.seed() + (static_cast<uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15U;
    seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9U;
    seed = (seed ^ seed >> 27) * 0x94D049BB133111EBU;
    stream.set_state(seed ^ seed >> 31, static_cast<uint64_t>(step) << 40);
  }
  return own;
}

bool is_finite(const Tensor& gradient) {
  double squares = 0;
  for (const double value : gradient.detach().to(f64).to_vector<double>()) squares += value * 0;
  return squares == 0;
}

}  // namespace

/// Calls learn and checks the leaves of the first two losses: they must be parameters of the model or of the optimizer,
/// or created by learn itself, such as an input whose gradient is a penalty. Two are checked, because a module may
/// create parameters during its first call.
BatchLoss Stepper::learn_and_check(const void* batch, const Learn& learn) {
  const uint64_t before = Ref<Node>(new Node)->sequence;
  BatchLoss learned = checked(learn(batch));
  if (options_.allow_unregistered || unchecked_ == 0 || !learned.loss.requires_grad()) return learned;
  --unchecked_;
  const auto strays = [&](const Tensor& loss) {
    Tensors known = model_.parameters();
    for (const Tensor& parameter : optimizer_.parameters()) known.push_back(parameter);
    std::vector<const Node*> leaves = nn::detail::unregistered_leaves({loss}, known);
    std::erase_if(leaves, [&](const Node* leaf) { return leaf->sequence >= before; });
    return leaves;
  };
  if (strays(learned.loss).empty()) return learned;
  // Repeated with a trace to find the lines that use them.
  const Trace trace;
  const Tensor loss = learn(batch).loss;
  nn::detail::raise_unregistered("Trainer", model_, nn::detail::describe_leaves({loss}, strays(loss)),
                                 "store a module as nn::Child and a tensor as nn::Parameter, freeze it, or set "
                                 "allow_unregistered");
  return learned;
}

int64_t recomputed_bytes(Device device) {
  return device.is_cpu() ? Rematerialize::kMinBytes : std::numeric_limits<int64_t>::max();
}

/// Returns the batch's loss and accumulates its gradient, weighted by its tokens if there are several batches or ranks.
/// With several ranks, a non-finite loss, like a batch without examples of this rank, adds nothing.
double Stepper::learn_from(const BatchSource::Item& item, const Learn& learn, Distributed* with,
                           Distributed::Send send) {
  const MatmulPrecisionScope precision(options_.precision);
  std::optional<Rematerialize> scope;
  if (!with || !with->shards_parameters()) scope.emplace(recomputed_bytes(optimizer_.parameters().front().device()));
  BatchLoss learned;
  if (item.batch) learned = learn_and_check(item.batch.get(), learn);
  const double loss = learned.loss.defined() ? learned.loss.item() : 0;
  const bool finite = std::isfinite(loss);
  if (with) {
    with->backward(finite ? learned.loss : Tensor(), static_cast<double>(learned.tokens), send);
  } else if (finite && item.batch) {
    run_backward(learned);
  }
  if (!finite) return loss;
  tokens_ += learned.tokens;
  loss_sum_ += loss * static_cast<double>(learned.tokens);
  return loss;
}

/// Backward in a single process, which may also update parameters.
void Stepper::run_backward(const BatchLoss& learned) {
  const double weight = one_batch() ? 1 : static_cast<double>(learned.tokens);
  try {
    learned.loss.backward({.gradient = full(learned.loss.shape(), weight, learned.loss.options())});
  } catch (const Error& error) {
    if (!stepping_ || error.kind() != ErrorKind::numeric) throw;
    gradient_refused_ = true;
  }
}

/// Updates the parameters, unless the backward already has, and returns the gradient norm; nullopt if it is not finite.
std::optional<double> Stepper::update() {
  if (stepping_) {
    if (gradient_refused_) return std::nullopt;
    const double norm = stepping_->grad_norm();
    stepping_.reset();
    return norm;
  }
  const double mean = one_batch() ? 1 : 1 / static_cast<double>(tokens_);
  double norm = 0;
  try {
    norm = mean * (distributed_ ? distributed_->grad_norm() : optim::grad_norm(optimizer_.parameters()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    return std::nullopt;
  }
  const double clip = options_.clip_norm > 0 ? optim::clip_scale(norm, options_.clip_norm) : 1;
  const optim::StepOptions scaled{.gradient_scale = mean * clip, .known_finite = true};
  if (distributed_)
    distributed_->step(scaled);
  else
    optimizer_.step(scaled);
  return norm;
}

const char* Stepper::fault_of_loss(double loss) {
  return std::isnan(loss) ? "the loss is NaN" : "the loss is infinite";
}

void Stepper::begin() {
  batches_.clear();
  tokens_ = 0;
  loss_sum_ = 0;
  gradient_refused_ = false;
  stepping_.reset();
  drop_gradients();
  remember_buffers();
}

/// Layers such as batch normalization update buffers in each forward.
void Stepper::remember_buffers() {
  buffers_.clear();
  if (!gives_up_ || options_.accumulate * options_.parts == 1) return;
  buffers_ = model_.state_dict();
  for (const NamedTensor& named : model_.named_parameters()) buffers_.erase(named.name);
  for (auto& [name, buffer] : buffers_) buffer = buffer.clone();
}

void Stepper::give_up_if_asked(BatchSource& source, const RandomState& random) {
  if (batches_.empty() || !gives_up_ || !gives_up_()) return;
  const NoGrad no_grad;
  for (NamedTensor& named : model_.named_buffers())
    if (const auto before = buffers_.find(named.name); before != buffers_.end()) named.tensor.copy_(before->second);
  source.seek(batches_.front().position);
  set_random_state(random);
  if (distributed_)
    distributed_->give_up();
  else
    optimizer_.zero_grad();
  batches_.clear();
  throw StepGivenUp();
}

std::optional<StepEvent> Stepper::step(int64_t step, BatchSource& source, const Learn& learn) {
  const RandomState random = random_state();
  if (!reads_later()) return step_now(step, source, learn, random);
  std::optional<Unread> before = std::exchange(unread_, std::nullopt);
  try {
    step_unread(step, source, learn, random);
  } catch (...) {
    unread_ = std::move(before);
    throw;
  }
  std::swap(unread_, before);
  std::optional<StepEvent> event = read(learn);
  unread_ = std::move(before);
  return event;
}

StepEvent Stepper::step_now(int64_t step, BatchSource& source, const Learn& learn, const RandomState& random) {
  const RandomState begun = distributed_ ? streams_of(random, distributed_->ranks().rank(), step) : random;
  std::optional<ForkRandom> own;
  if (distributed_) own.emplace(begun);
  begin();
  if (options_.step_in_backward) stepping_.emplace(optimizer_);
  double fault = 0;  // a non-finite loss, if any
  const int64_t items = options_.accumulate * options_.parts;
  for (int64_t i = 0; i < items; ++i) {
    const bool last = i + 1 == items;
    give_up_if_asked(source, random);
    batches_.push_back(source.next());
    const double loss =
        learn_from(batches_.back(), learn, distributed_, last ? Distributed::Send::now : Distributed::Send::later);
    if (!std::isfinite(loss)) fault = loss;
    if (!std::isfinite(loss) && !distributed_) break;
  }
  if (distributed_) fault = sum_over_ranks(fault);
  if (!std::isfinite(fault)) stop(fault_of_loss(fault), step, learn, begun);
  const double lr = optimizer_.lr();
  const std::optional<double> norm = update();
  if (!norm) stop("a gradient is not finite", step, learn, begun);
  drop_gradients();
  if (options_.schedule) options_.schedule->step();
  StepEvent event = event_of(step, lr);
  event.loss = loss_sum_ / static_cast<double>(tokens_);
  event.grad_norm = *norm;
  batches_.clear();
  return event;
}

/// The event of the batches so far, without the loss and the norm.
StepEvent Stepper::event_of(int64_t step, double lr) const {
  const BatchSource::Item& last = batches_.back();
  return {.step = step,
          .epoch = static_cast<double>(last.position.epoch) +
                   static_cast<double>(last.position.batch + 1) / static_cast<double>(last.batches),
          .lr = lr,
          .tokens = tokens_};
}

void Stepper::stop(const char* what, int64_t step, const Learn& learn, const RandomState& random) {
  set_random_state(random);
  diagnose(what, step, learn);
}

void Stepper::drop_gradients() {
  if (distributed_)
    distributed_->zero_grad();
  else
    optimizer_.zero_grad();
}

/// With several ranks, gradients, losses, tokens and `fault` are sums over all of them from here on.
double Stepper::sum_over_ranks(double fault) {
  distributed_->finish();
  struct Report {
    double loss_sum, fault;
    int64_t tokens;
  };
  const std::vector<Report> reports = all_gather(distributed_->ranks(), Report{loss_sum_, fault, tokens_});
  loss_sum_ = fault = 0;
  tokens_ = 0;
  for (const Report& report : reports) {
    loss_sum_ += report.loss_sum;
    fault += report.fault;
    tokens_ += report.tokens;
  }
  return fault;
}

/// Runs the step's batches again and checks every intermediate value.
std::optional<std::string> Stepper::find_fault(const Learn& learn) {
  optimizer_.zero_grad();
  for (const NamedTensor& named : model_.named_parameters())
    if (!is_finite(named.tensor)) return fmt::format("the parameter {} contains NaN or infinity", named.name);
  try {
    const DetectAnomaly looking;
    for (const BatchSource::Item& item : batches_)
      if (item.batch && !std::isfinite(learn_from(item, learn, nullptr, Distributed::Send::later)))
        return "the loss is not on the tape, or not made by operations";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    return error.what();
  }
  for (const NamedTensor& named : model_.named_parameters())
    if (named.tensor.grad().defined() && !is_finite(named.tensor.grad()))
      return fmt::format("the sum of finite gradients of {} overflowed", named.name);
  return std::nullopt;
}

/// The fault found by the first rank that found one.
std::string Stepper::fault_of_any_rank(const std::optional<std::string>& here) const {
  const char* const nothing = "repeating the batch gave finite values: learn depends on something that has changed";
  if (!distributed_) return here.value_or(nothing);
  const std::vector<std::string> all = all_gather(distributed_->ranks(), here.value_or(""));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty()) return fmt::format("rank {}: {}", rank, all[rank]);
  return nothing;
}

void Stepper::diagnose(const std::string& what, int64_t step, const Learn& learn) {
  const ForkRandom random;
  const GatheredParameters whole(distributed_);
  const int64_t updated = stepping_ ? stepping_->updated() : 0;
  stepping_.reset();
  std::optional<std::string> here = find_fault(learn);
  if (!here && updated > 0) here = "repeating the batch with the current parameters gave finite values";
  const std::string fault = fault_of_any_rank(here);
  optimizer_.zero_grad();
  const std::string done =
      updated > 0 ? fmt::format("{} of {} parameters had already been updated", updated, optimizer_.parameters().size())
                  : "nothing was updated";
  Error error(ErrorKind::numeric, fmt::format("step {}, {}: {}: {}; {}", step, place_of(batches_), what, fault, done));
  throw error;
}

}  // namespace tape::train
