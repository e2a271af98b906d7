#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/tape/leaf_hooks.h"
#include "../../base/file.h"
#include "../../nn/module/module.h"
#include "../../optim/optimizer.h"
#include "bucket.h"
#include "communicator.h"
#include "optimizer_slices.h"
#include "spread_parameters.h"

namespace tape::train {

/// What each rank keeps of what all would keep alike (Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward
/// Training Trillion Parameter Models", 5).
enum class Sharding {
  none,        ///< everything
  optimizer,   ///< the optimizer's state of its share of the parameters' values (ZeRO 1)
  gradients,   ///< that, and of gradients its share: each backward's are exchanged as they come (ZeRO 2)
  parameters,  ///< that, and of the layers' parameters its share: each is whole while it computes (ZeRO 3)
};

struct DistributedOptions {
  int64_t bucket_bytes = int64_t{25} << 20;  ///< of gradients that are exchanged at once, at least one parameter's
  bool bf16 = false;                         ///< f32 gradients travel as bf16: half the volume, 8 bits of precision
  Sharding sharding = Sharding::none;
};

/// What the exchange of gradients and parameters has cost so far, on this rank.
struct ExchangeStats {
  int64_t exchanges = 0;  ///< updates
  int64_t sent_bytes = 0;
  double in_flight = 0;  ///< seconds in which something was on its way
  double waited = 0;     ///< seconds of these in which nothing else was done; the rest was hidden behind the backward
};

/// Data-parallel training: every rank has the model and learns from its share of each batch, and gradients are summed
/// over the ranks while the backward still goes on.
///
///     train::Distributed distributed(*world.ranks(), model, adam);
///     for (...) {
///       adam.zero_grad();
///       distributed.backward(loss, tokens, Distributed::Send::now);     // mean loss over this rank's tokens
///       distributed.finish();                                           // gradients: of sum_r tokens_r loss_r
///       const double norm = distributed.grad_norm() / all_tokens;
///       distributed.step({.gradient_scale = clip_scale(norm, 1) / all_tokens, .known_finite = true});
///     }
///
/// The first exchange learns in which order a backward gives gradients, and every later one sends them, by buckets in
/// that order, as soon as they are there (EagerGradAccumulation). Sums are made in the order of the ranks (Bucket): all
/// ranks have the same bits, and two runs on as many ranks too.
///
/// With Sharding::parameters the parameters of layers (modules of an nn::Children) have the shape [0] but while their
/// layer computes; those outside of layers, those that are not trained and buffers stay whole. WholeParameters gathers
/// all of them for a while, and hold_parameters() for good, as the end of a training wants it.
///
/// While it lives, parameters have a hook, and the optimizer keeps slices where the options say so. Error (config)
/// where the ranks' models differ in names, shapes or dtypes, naming the first that does, and for Sharding::parameters
/// of a model without layers; Error (io) where the transport fails.
class Distributed {
 public:
  /// Gives all ranks the parameters and buffers of rank 0, and checks by their hash that all have them.
  Distributed(Communicator& ranks, nn::Module& model, optim::Optimizer& optimizer,
              const DistributedOptions& options = {});
  Distributed(const Distributed&) = delete;
  Distributed& operator=(const Distributed&) = delete;

  enum class Send { later, now };
  /// Adds the gradient of weight * loss to this rank's; an undefined loss adds nothing. With Send::now, which ends an
  /// update and which all ranks call, the sums over all calls are sent off. With Sharding::gradients and parameters
  /// every call sends.
  void backward(const Tensor& loss, double weight, Send send);
  /// Waits for what is on its way. grad() of each parameter is then the sum over ranks, undefined where no rank has
  /// one; with sharding no parameter has one, and step() takes what this rank has.
  void finish();
  /// Of the sums, all together; Error (numeric) on all ranks where it is not finite.
  double grad_norm();
  /// The optimizer's step: on every rank alike, or on each its share, which the others then get.
  void step(const optim::StepOptions& options);
  /// Drops the gradients.
  void zero_grad();
  /// Gathers all parameters until as many calls of let_parameters_go(), which keeps what was written into them. Called
  /// by all ranks, outside of an update; nothing happens where parameters are whole anyway.
  void hold_parameters();
  void let_parameters_go();

  /// Writes the optimizer's whole state, as one process would have it (save_safetensors(path, state_dict())), on rank
  /// 0: what other ranks have of it comes piece by piece, so that nobody ever holds more than a megabyte of it. Called
  /// by all ranks, of which rank 0's path counts.
  void save_optimizer_state(const std::string& path);
  /// Raises Error (graph) on all ranks unless they hold the same parameters, bit for bit.
  void check_equal(const std::string& when);

  Communicator& ranks() const { return ranks_; }
  /// Whether parameters are dropped while their layer does not compute.
  bool spreads() const { return spread_ != nullptr; }
  ExchangeStats stats() const;

 private:
  class Sending;
  bool sharded() const { return options_.sharding != Sharding::none; }
  bool sends_each() const { return options_.sharding >= Sharding::gradients; }
  void spread_layers();
  void add_bucket(std::vector<BucketPart> parts);
  void keep_own_slices();
  void ready(size_t parameter);
  void send_ready(bool all);
  void plan();
  void take_sums();
  std::vector<SliceGradient> own_gradients() const;
  void give_pieces(const Bucket& bucket, size_t part, const Tensor& own, const Writer& write);

  Communicator& ranks_;
  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const DistributedOptions options_;
  Tensors parameters_;  // that the optimizer trains
  std::vector<Shape> shapes_;
  LeafHooks hooks_;
  std::vector<size_t> order_;  // in which the first backward gave gradients
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::optional<OptimizerSlices> slices_;     // with sharding
  std::vector<size_t> bucket_of_;             // of each parameter
  std::vector<int64_t> awaited_;              // gradients that each bucket still waits for
  std::vector<char> has_gradient_;            // parameters that got one since the last update, here
  std::vector<char> present_;                 // and on any rank
  std::vector<Bucket*> whole_buckets_;        // of parameters that every rank has whole
  std::unique_ptr<SpreadParameters> spread_;  // of the others, with Sharding::parameters
  size_t next_ = 0;                           // bucket to send
  bool sending_ = false;
  double sent_at_ = 0;  // when the first bucket of an exchange went off
  ExchangeStats stats_;
};

/// While in scope, the parameters are whole on every rank.
class WholeParameters {
 public:
  /// Null: nothing to gather.
  explicit WholeParameters(Distributed* distributed) : distributed_(distributed) {
    if (distributed_) distributed_->hold_parameters();
  }
  ~WholeParameters() {
    if (distributed_) distributed_->let_parameters_go();
  }
  WholeParameters(const WholeParameters&) = delete;
  WholeParameters& operator=(const WholeParameters&) = delete;

 private:
  Distributed* const distributed_;
};

}  // namespace tape::train
