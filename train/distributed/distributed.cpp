#include "train/distributed/distributed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/ops/reduce/totals.h"
#include "autograd/tape/eager_grad_accumulation.h"
#include "autograd/tape/tape.h"
#include "base/error.h"
#include "optim/clip.h"
#include "train/distributed/consistency.h"
#include "train/runs/progress.h"

namespace tape::train {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;  // bytes of optimizer state that a rank sends at once
constexpr size_t kMaxInFlight = 2;        // buckets in transfer at once if gradients are sharded

}  // namespace

Distributed::Distributed(Communicator& ranks, nn::Module& model, optim::Optimizer& optimizer,
                         const DistributedOptions& options)
    : ranks_(ranks), model_(model), optimizer_(optimizer), options_(options), parameters_(optimizer.parameters()) {
  if (options_.bucket_bytes < 1)
    raise(ErrorKind::config, "Distributed: bucket_bytes must be at least 1, got {}", options_.bucket_bytes);
  for (const Tensor& parameter : parameters_) shapes_.push_back(parameter.shape());
  check_same_model(ranks_, model_);
  check_same_text(ranks_, "the optimizer", fmt::format("{} parameters", parameters_.size()));
  broadcast_values(ranks_, model_.state_dict());
  check_equal("after the initial broadcast");
  has_gradient_.assign(parameters_.size(), 0);
  if (options_.sharding == Sharding::parameters) shard_layers();
  for (size_t i = 0; i < parameters_.size(); ++i) hooks_.add(parameters_[i], [this, i](Tensor&) { ready(i); });
}

/// One bucket per layer and buckets for the other parameters, in the order in which backward completes them: last
/// first.
void Distributed::shard_layers() {
  if (!model_.device().is_cpu())
    raise(ErrorKind::config, "Distributed: Sharding::parameters needs a model on the CPU, this one is on {}",
          to_string(model_.device()));
  std::vector<Layer> layers = layers_of(model_, parameters_);
  if (layers.empty())
    raise(ErrorKind::config,
          "Distributed: Sharding::parameters gathers parameters layer by layer, but {} has no list of layers "
          "(nn::Children) with trainable parameters",
          model_.type_name());
  std::vector<size_t> layer_of(parameters_.size(), layers.size());
  for (size_t l = 0; l < layers.size(); ++l)
    for (const size_t i : layers[l].parameters) layer_of[i] = l;
  bucket_of_.resize(parameters_.size());
  std::vector<const Bucket*> of_layers(layers.size());
  std::vector<size_t> others;
  const auto add_others = [&] {
    for (std::vector<BucketPart>& parts : plan_buckets(parameters_, std::exchange(others, {}), options_.bucket_bytes))
      add_bucket(std::move(parts));
  };
  for (size_t i = parameters_.size(); i-- > 0;) {
    if (layer_of[i] == layers.size()) {
      others.push_back(i);
      continue;
    }
    if (of_layers[layer_of[i]]) continue;
    add_others();
    add_bucket(plan_one_bucket(parameters_, layers[layer_of[i]].parameters));
    of_layers[layer_of[i]] = buckets_.back().get();
  }
  add_others();
  keep_own_slices();
  for (const auto& bucket : buckets_)
    if (std::ranges::find(of_layers, bucket.get()) == of_layers.end()) whole_buckets_.push_back(bucket.get());
  sharded_parameters_ = std::make_unique<ShardedParameters>(ranks_, parameters_, std::move(layers), of_layers);
}

void Distributed::add_bucket(std::vector<BucketPart> parts) {
  for (const BucketPart& part : parts) bucket_of_[part.parameter] = buckets_.size();
  const DType dtype = parameters_[parts.front().parameter].dtype();
  buckets_.push_back(std::make_unique<Bucket>(ranks_, std::move(parts), dtype, options_.bf16));
  awaited_.push_back(0);
}

void Distributed::keep_own_slices() {
  std::vector<ParameterSlice> slices;
  for (const auto& bucket : buckets_) std::ranges::copy(bucket->own_slices(), std::back_inserter(slices));
  slices_.emplace(optimizer_, slices);
}

/// Called once this backward has accumulated the parameter's full gradient.
void Distributed::ready(size_t parameter) {
  has_gradient_[parameter] = 1;
  if (!buckets_.empty())
    --awaited_[bucket_of_[parameter]];
  else if (std::ranges::find(order_, parameter) == order_.end())
    order_.push_back(parameter);
  if (sending_) send_ready(false);
}

/// Starts the buckets that are ready and advances those in transfer.
void Distributed::send_ready(bool all) {
  bool turn = true;
  for (size_t i = 0; i < next_; ++i) turn = buckets_[i]->advance(turn);
  for (; next_ < buckets_.size() && (all || awaited_[next_] <= 0); ++next_) {
    if (next_ == 0) sent_at_ = steady_seconds();
    // Sharded gradients should need little memory, so limit the buckets in transfer. Ranks in serve() send nothing yet.
    const double began = steady_seconds();
    if (sends_each() && next_ >= kMaxInFlight && (all || !sharded_parameters_))
      buckets_[next_ - kMaxInFlight]->finish();
    buckets_[next_]->finish();  // from an earlier backward of the same update
    stats_.waited += steady_seconds() - began;
    buckets_[next_]->start(parameters_, !sharded());
  }
}

/// While in scope, gradient hooks start transfers.
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
  if (sharded_parameters_) sharded_parameters_->begin_backward();
  if (loss.defined()) {
    const EagerGradAccumulation early;
    loss.backward({.gradient = full(loss.shape(), weight, loss.dtype())});
  }
  if (sharded_parameters_) sharded_parameters_->serve();  // before waiting for any transfer
  if (sending_)
    send_ready(true);
  else if (sends_each())
    plan_and_send();  // also in the first update, so that a run that resumes sums as one that goes on
}

/// Plans buckets in the order in which rank 0's first backward produced gradients; parameters without one come last.
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
  for (const auto& bucket : buckets_) whole_buckets_.push_back(bucket.get());
  if (sharded()) keep_own_slices();
}

void Distributed::plan_and_send() {
  plan();
  next_ = 0;
  send_ready(true);
}

void Distributed::finish() {
  if (buckets_.empty()) plan_and_send();
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
  share_buffers();
  if (!sharded()) take_sums();
}

/// Layers such as batch normalization update buffers in each forward, by this rank's examples.
void Distributed::share_buffers() {
  nn::StateDict buffers = model_.state_dict();
  for (const NamedTensor& named : model_.named_parameters()) buffers.erase(named.name);
  broadcast_values(ranks_, buffers);
}

void Distributed::give_up() {
  for (const auto& bucket : buckets_) bucket->finish();
  has_gradient_.assign(parameters_.size(), 0);
  zero_grad();
}

/// Sets each parameter's gradient to a view of its bucket's memory.
void Distributed::take_sums() {
  for (const auto& bucket : buckets_) {
    for (const BucketPart& part : bucket->parts()) {
      Tensor& parameter = parameters_[part.parameter];
      if (present_[part.parameter]) parameter.set_grad(bucket->gradient(part, parameter.shape()));
    }
    bucket->drop();
  }
}

std::vector<SliceGradient> Distributed::own_gradients() const {
  std::vector<SliceGradient> gradients;
  for (const auto& bucket : buckets_)
    for (const ParameterSlice& own : bucket->own_slices())
      if (present_[own.parameter])
        gradients.push_back({own.parameter, bucket->share_of(own),
                             sharded_parameters_ ? sharded_parameters_->share_of(own) : Tensor()});
  return gradients;
}

double Distributed::grad_norm() {
  if (!sharded()) return optim::grad_norm(parameters_);
  Tensors own;
  for (const SliceGradient& slice : own_gradients()) own.push_back(slice.gradient);
  double total = 0;
  for (const double part : all_gather(ranks_, sum_of_squares("grad_norm", own))) total += part;
  if (!std::isfinite(total)) raise(ErrorKind::numeric, "grad_norm: the sum of squared gradients is {}", total);
  return std::sqrt(total);
}

void Distributed::step(const optim::StepOptions& options) {
  if (!sharded()) {
    optimizer_.step(options);
    return;
  }
  slices_->step(own_gradients(), options);
  for (const auto& bucket : buckets_) bucket->drop();
  if (sharded_parameters_) sharded_parameters_->changed();
  const double began = steady_seconds();
  for (Bucket* const bucket : whole_buckets_) bucket->start_gathering(parameters_);
  for (Bucket* const bucket : whole_buckets_) bucket->finish_gathering(parameters_);
  const double took = steady_seconds() - began;
  stats_.in_flight += took;
  stats_.waited += took;
}

void Distributed::zero_grad() {
  optimizer_.zero_grad();
  for (const auto& bucket : buckets_) bucket->drop();
}

void Distributed::gather_parameters() {
  if (sharded_parameters_) sharded_parameters_->gather_all();
}

void Distributed::release_parameters() {
  if (sharded_parameters_) sharded_parameters_->release_all();
}

/// Writes the optimizer state of a bucket's parameter, of which this rank has `own`: each rank sends its slice.
void Distributed::write_pieces(const Bucket& bucket, size_t part, const Tensor& own, const Writer& write) {
  const int64_t bytes = size_of(own.dtype());
  const Tensor values = own.to(cpu);
  std::string piece;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const int64_t end = bucket.slices_of(rank)[part].count * bytes;
    for (int64_t at = 0; at < end; at += std::ssize(piece)) {
      piece.resize(static_cast<size_t>(std::min(kPieceBytes, end - at)));
      if (rank == ranks_.rank()) std::memcpy(piece.data(), static_cast<const char*>(values.raw()) + at, piece.size());
      ranks_.broadcast(piece.data(), std::ssize(piece), rank);
      write(piece);
    }
  }
}

void Distributed::save_optimizer_state(const std::string& path) {
  std::map<std::string, TensorSource> state;
  for (const auto& [name, own] : optimizer_.state_dict()) {
    state[name] = source_of(own);
    const size_t dot = name.find('.');
    const bool of_parameter = dot != std::string::npos && !name.starts_with("group.");
    if (!sharded() || buckets_.empty() || !of_parameter || name.substr(dot) == ".step") continue;
    const size_t parameter = std::stoul(name.substr(0, dot));
    const Bucket& bucket = *buckets_[bucket_of_[parameter]];
    const auto part = std::ranges::find(bucket.parts(), parameter, &BucketPart::parameter) - bucket.parts().begin();
    state[name] = {own.dtype(), shapes_[parameter],
                   [this, &bucket, part = static_cast<size_t>(part), values = own](const Writer& write) {
                     write_pieces(bucket, part, values, write);
                   }};
  }
  if (ranks_.is_root()) {
    save_safetensors(path, state);
  } else if (sharded()) {
    for (const auto& [name, tensor] : in_file_order(state)) tensor.give([](std::string_view) {});
  }
}

void Distributed::check_equal(const std::string& when) { check_same_values(ranks_, model_, when); }

ExchangeStats Distributed::stats() const {
  ExchangeStats stats = stats_;
  for (const auto& bucket : buckets_) stats.sent_bytes += bucket->sent_bytes();
  if (!sharded_parameters_) return stats;
  stats.sent_bytes += sharded_parameters_->sent_bytes();
  stats.waited += sharded_parameters_->waited();
  stats.in_flight += sharded_parameters_->waited();
  return stats;
}

}  // namespace tape::train
