#include "train/distributed/distributed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/create.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/early_leaves.h"
#include "autograd/tape/tape.h"
#include "base/error.h"
#include "optim/clip.h"
#include "train/distributed/same.h"
#include "train/progress.h"

namespace tape::train {

Distributed::Distributed(Communicator& ranks, nn::Module& model, optim::Optimizer& optimizer,
                         const DistributedOptions& options)
    : ranks_(ranks), model_(model), optimizer_(optimizer), options_(options), parameters_(optimizer.parameters()) {
  if (options_.bucket_bytes < 1)
    raise(ErrorKind::config, "Distributed: bucket_bytes must be at least 1, got {}", options_.bucket_bytes);
  check_same_model(ranks_, model_);
  check_same_text(ranks_, "the optimizer", fmt::format("{} parameters", parameters_.size()));
  broadcast_values(ranks_, model_);
  check_equal("after the broadcast");
  has_gradient_.assign(parameters_.size(), 0);
  if (options_.sharding == Sharding::parameters) spread_layers();
  for (size_t i = 0; i < parameters_.size(); ++i)
    hooks_.push_back(parameters_[i].register_hook([this, i](const Tensor&) -> Tensor {
      ready(i);
      return {};
    }));
}

Distributed::~Distributed() {
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].remove_hook(hooks_[i]);
}

/// One bucket a layer, in the order in which a backward ends with them, and what lies in no layer behind.
void Distributed::spread_layers() {
  std::vector<Layer> layers = layers_of(model_, parameters_);
  if (layers.empty())
    raise(ErrorKind::config,
          "Distributed: Sharding::parameters gathers one layer after the other, and {} has no list of layers "
          "(nn::Children) with parameters that are trained",
          model_.type_name());
  std::ranges::reverse(layers);
  std::vector<char> in_layer(parameters_.size(), 0);
  bucket_of_.resize(parameters_.size());
  for (const Layer& layer : layers) {
    add_bucket(plan_one_bucket(parameters_, layer.parameters));
    for (const size_t i : layer.parameters) in_layer[i] = 1;
  }
  layers_ = layers.size();
  std::vector<size_t> others;
  for (size_t i = parameters_.size(); i-- > 0;)
    if (!in_layer[i]) others.push_back(i);
  for (std::vector<BucketPart>& parts : plan_buckets(parameters_, others, options_.bucket_bytes))
    add_bucket(std::move(parts));
  keep_own_slices();
  std::vector<const Bucket*> of_layers;
  for (size_t l = 0; l < layers_; ++l) of_layers.push_back(buckets_[l].get());
  spread_ = std::make_unique<SpreadParameters>(ranks_, parameters_, std::move(layers), of_layers);
}

void Distributed::add_bucket(std::vector<BucketPart> parts) {
  for (const BucketPart& part : parts) bucket_of_[part.parameter] = buckets_.size();
  const DType dtype = parameters_[parts.front().parameter].dtype();
  buckets_.push_back(std::make_unique<Bucket>(ranks_, std::move(parts), dtype, options_.bf16));
  awaited_.push_back(0);
}

void Distributed::keep_own_slices() {
  std::vector<optim::Slice> slices(parameters_.size());
  for (const auto& bucket : buckets_)
    for (const ParameterSlice& own : bucket->own_slices()) slices[own.parameter] = {own.begin, own.count};
  optimizer_.keep_slices(slices);
}

/// A hook is called in front of the sum in grad(): what the hook before it told of is whole now.
void Distributed::ready(size_t parameter) {
  if (sending_) send_ready(false);
  has_gradient_[parameter] = 1;
  if (!buckets_.empty())
    --awaited_[bucket_of_[parameter]];
  else if (std::ranges::find(order_, parameter) == order_.end())
    order_.push_back(parameter);
}

/// Sends the buckets whose turn has come, and moves those on that are on their way.
void Distributed::send_ready(bool all) {
  bool turn = true;
  for (size_t i = 0; i < next_; ++i) turn = buckets_[i]->advance(turn);
  for (; next_ < buckets_.size() && (all || awaited_[next_] <= 0); ++next_) {
    if (next_ == 0) sent_at_ = steady_seconds();
    buckets_[next_]->finish();  // of an earlier backward of the same update
    buckets_[next_]->start(parameters_, !sharded());
  }
}

/// While in scope, hooks send gradients.
class Distributed::Sending {
 public:
  Sending(Distributed& owner, bool sends) : owner_(owner) {
    owner_.sending_ = sends && !owner_.buckets_.empty();
    if (!owner_.sending_) return;
    owner_.next_ = 0;
    for (size_t i = 0; i < owner_.buckets_.size(); ++i) owner_.awaited_[i] = std::ssize(owner_.buckets_[i]->parts());
  }
  ~Sending() { owner_.sending_ = false; }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

 private:
  Distributed& owner_;
};

void Distributed::backward(const Tensor& loss, double weight, Send send) {
  const Sending sending(*this, send == Send::now || sends_each());
  if (spread_) spread_->begin_backward();
  if (loss.defined()) {
    const EarlyLeaves early;
    loss.backward({.gradient = full(loss.shape(), weight, loss.dtype())});
  }
  if (spread_) spread_->serve();  // before anything is waited for
  if (sending_) send_ready(true);
}

/// Buckets in the order in which rank 0's first backward gave gradients; what it gave none comes last.
void Distributed::plan() {
  std::vector<int64_t> order(parameters_.size(), -1);
  std::ranges::copy(order_, order.begin());
  ranks_.broadcast(order.data(), static_cast<int64_t>(order.size() * sizeof(int64_t)));
  std::erase(order, -1);
  order_.assign(order.begin(), order.end());
  for (size_t i = parameters_.size(); i-- > 0;)
    if (std::ranges::find(order_, i) == order_.end()) order_.push_back(i);
  bucket_of_.resize(parameters_.size());
  for (std::vector<BucketPart>& parts : plan_buckets(parameters_, order_, options_.bucket_bytes))
    add_bucket(std::move(parts));
  if (sharded()) keep_own_slices();
}

void Distributed::finish() {
  if (buckets_.empty()) {
    plan();
    next_ = 0;
    send_ready(true);
  }
  const double began = steady_seconds();
  for (const auto& bucket : buckets_) bucket->finish();
  stats_.waited += steady_seconds() - began;
  stats_.in_flight += steady_seconds() - sent_at_;
  ++stats_.exchanges;
  std::vector<char> all(parameters_.size() * static_cast<size_t>(ranks_.size()));
  ranks_.all_gather(has_gradient_.data(), all.data(), std::ssize(has_gradient_));
  present_.assign(parameters_.size(), 0);
  for (size_t i = 0; i < all.size(); ++i) present_[i % parameters_.size()] |= all[i];
  has_gradient_.assign(parameters_.size(), 0);
  if (!sharded()) take_sums();
}

/// The parameters' gradients lie in the buckets' memory from now on.
void Distributed::take_sums() {
  for (const auto& bucket : buckets_) {
    for (const BucketPart& part : bucket->parts()) {
      Tensor& parameter = parameters_[part.parameter];
      if (present_[part.parameter]) parameter.set_grad(bucket->gradient(part, parameter.shape()));
    }
    bucket->drop();
  }
}

std::vector<optim::GradientSlice> Distributed::own_gradients() const {
  std::vector<optim::GradientSlice> gradients;
  for (const auto& bucket : buckets_)
    for (const ParameterSlice& own : bucket->own_slices())
      if (present_[own.parameter])
        gradients.push_back({own.parameter, bucket->share_of(own), spread_ ? spread_->share_of(own) : Tensor()});
  return gradients;
}

double Distributed::grad_norm() {
  if (!sharded()) return optim::grad_norm(parameters_);
  double squares = 0;
  for (const optim::GradientSlice& own : own_gradients())
    squares += dispatch_floating("grad_norm", own.values.dtype(), [&](auto zero) {
      using T = decltype(zero);
      return kernels::reduce<T>().sum_of_squares(own.values.numel(), own.values.template data<T>());
    });
  double total = 0;
  for (const double part : all_gather(ranks_, squares)) total += part;
  if (!std::isfinite(total)) raise(ErrorKind::numeric, "grad_norm: the gradients' squares sum to {}", total);
  return std::sqrt(total);
}

void Distributed::step(const optim::StepOptions& options) {
  if (!sharded()) {
    optimizer_.step(options);
    return;
  }
  optimizer_.step_slices(own_gradients(), options);
  for (const auto& bucket : buckets_) bucket->drop();
  if (spread_) spread_->changed();
  const double began = steady_seconds();
  for (size_t i = layers_; i < buckets_.size(); ++i) buckets_[i]->start_gathering(parameters_);
  for (size_t i = layers_; i < buckets_.size(); ++i) buckets_[i]->finish_gathering(parameters_);
  const double took = steady_seconds() - began;
  stats_.in_flight += took;
  stats_.waited += took;
}

void Distributed::zero_grad() {
  optimizer_.zero_grad();
  for (const auto& bucket : buckets_) bucket->drop();
}

void Distributed::hold_parameters() {
  if (spread_) spread_->hold();
}

void Distributed::let_parameters_go() {
  if (spread_) spread_->let_go();
}

std::map<std::string, Tensor> Distributed::optimizer_state() {
  std::map<std::string, Tensor> state = optimizer_.state_dict();
  if (!sharded() || buckets_.empty()) return state;
  const NoGrad no_grad;
  for (const auto& bucket : buckets_) {
    // Every parameter of an optimizer keeps values under the same names.
    std::map<std::string, Tensors> kept;
    for (const ParameterSlice& own : bucket->own_slices()) {
      const std::string prefix = std::to_string(own.parameter) + ".";
      for (auto at = state.lower_bound(prefix); at != state.end() && at->first.starts_with(prefix); ++at) {
        const std::string name = at->first.substr(prefix.size());
        if (name == "step") continue;
        const Tensor& parameter = parameters_[own.parameter];
        const Tensor whole = zeros(Shape{parameter.numel()}, parameter.dtype());
        slice(whole, 0, {.start = own.begin, .end = own.begin + own.count}).copy_(at->second);
        Tensors& values = kept[name];
        values.resize(parameters_.size());
        values[own.parameter] = at->second = reshape(whole, parameter.shape());
      }
    }
    for (auto& [name, values] : kept) {
      for (const BucketPart& part : bucket->parts())  // those that were never updated keep nothing yet
        if (!values[part.parameter].defined())
          values[part.parameter] = zeros(Shape{part.numel}, parameters_[part.parameter].dtype());
      bucket->start_gathering(values);
      bucket->finish_gathering(values);
    }
  }
  return state;
}

void Distributed::check_equal(const std::string& when) { check_same_values(ranks_, model_, when); }

ExchangeStats Distributed::stats() const {
  ExchangeStats stats = stats_;
  for (const auto& bucket : buckets_) stats.sent_bytes += bucket->sent_bytes();
  if (!spread_) return stats;
  stats.sent_bytes += spread_->sent_bytes();
  stats.waited += spread_->waited();
  stats.in_flight += spread_->waited();
  return stats;
}

}  // namespace tape::train
