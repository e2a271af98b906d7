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
#include "sharded_parameters.h"

namespace tape::train {

/// What is sharded over the ranks instead of replicated (Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward
/// Training Trillion Parameter Models", 5).
enum class Sharding {
  none,        ///< nothing: every rank has a full replica
  optimizer,   ///< optimizer state (ZeRO 1)
  gradients,   ///< optimizer state and gradients, which are exchanged during each backward (ZeRO 2)
  parameters,  ///< also the parameters of layers, which are gathered while their layer computes (ZeRO 3)
};

/// Options of Distributed. All ranks must use the same.
struct DistributedOptions {
  int64_t bucket_bytes = int64_t{25} << 20;  ///< gradient bytes per exchange; a bucket has at least one parameter
  bool bf16 = false;                         ///< send f32 gradients as bf16: half the volume, 8 bits of precision
  Sharding sharding = Sharding::none;        ///< what is sharded over the ranks
};

/// Cost of exchanging gradients and parameters so far, on this rank.
struct ExchangeStats {
  int64_t exchanges = 0;   ///< number of updates
  int64_t sent_bytes = 0;  ///< bytes that this rank sent to other ranks
  double in_flight = 0;    ///< seconds with at least one transfer in progress
  double waited = 0;       ///< seconds of in_flight spent waiting; the rest overlapped with the backward
};

/// Data-parallel training: every rank has the model and learns from its share of each batch. Gradients are summed over
/// the ranks while the backward is still running.
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
/// The first exchange records the order in which a backward produces gradients. Later exchanges send buckets in that
/// order as soon as their gradients are complete (EagerGradAccumulation). Sums are computed in rank order (Bucket), so
/// results are bitwise equal on all ranks, and across runs with the same number of ranks.
///
/// With Sharding::parameters, the parameters of layers (modules of an nn::Children) have shape [0] except while their
/// layer computes. Parameters outside of layers, frozen parameters and buffers stay whole. GatheredParameters gathers
/// all parameters while in scope; gather_parameters() does so permanently, as at the end of training.
///
/// During its lifetime, each parameter has a hook; with sharding, the optimizer keeps state only for its slices. Throws
/// Error (config) if the ranks' models differ in names, shapes or dtypes, naming the first difference, or if
/// Sharding::parameters is used with a model without layers; Error (io) if the transport fails.
class Distributed {
 public:
  /// Broadcasts the parameters and buffers of rank 0 and verifies by hash that all ranks have them.
  Distributed(Communicator& ranks, nn::Module& model, optim::Optimizer& optimizer,
              const DistributedOptions& options = {});
  Distributed(const Distributed&) = delete;
  Distributed& operator=(const Distributed&) = delete;

  /// Whether backward() only accumulates, or also sends the gradients because it is the last call of an update.
  enum class Send { later, now };
  /// Accumulates the gradient of weight * loss on this rank; an undefined loss adds nothing. Send::now marks the last
  /// call of an update, which all ranks must make: it sends the accumulated gradients. With Sharding::gradients or
  /// parameters every call sends.
  void backward(const Tensor& loss, double weight, Send send);
  /// Waits for the exchange. Without sharding, grad() of each parameter is then the sum over ranks, undefined if no
  /// rank has one. With sharding, grad() is undefined and step() uses this rank's slices. Persistent buffers, such as
  /// running statistics, become those of rank 0.
  void finish();
  /// Drops the gradients of an update between two calls of backward(). All ranks must call it.
  void give_up();
  /// Global norm of the summed gradients. Throws Error (numeric) on all ranks if it is not finite.
  double grad_norm();
  /// Optimizer step: on all parameters, or with sharding on this rank's slices, which are then sent to the other ranks.
  void step(const optim::StepOptions& options);
  /// Clears the gradients.
  void zero_grad();
  /// Gathers all parameters until release_parameters() has been called as often; values written meanwhile are
  /// preserved. All ranks must call it, outside of an update. No-op if parameters are not sharded.
  void gather_parameters();
  /// Undoes one gather_parameters(); the last one frees the other ranks' parts. All ranks must call it. No-op if
  /// parameters are not sharded.
  void release_parameters();

  /// Writes the full optimizer state as a single process would (save_safetensors(path, state_dict())), on rank 0. The
  /// other ranks send their slices in pieces of 1 MiB, so that no rank has to hold the whole state. All ranks must call
  /// it; only rank 0's path is used.
  void save_optimizer_state(const std::string& path);
  /// Throws Error (graph) on all ranks unless they have bitwise equal parameters.
  void check_equal(const std::string& when);

  /// The processes that train together, as given to the constructor.
  Communicator& ranks() const { return ranks_; }
  /// Whether parameters are sharded: freed while their layer does not compute.
  bool shards_parameters() const { return sharded_parameters_ != nullptr; }
  /// Totals since construction.
  ExchangeStats stats() const;

 private:
  class Sending;
  bool sharded() const { return options_.sharding != Sharding::none; }
  bool sends_each() const { return options_.sharding >= Sharding::gradients; }
  void shard_layers();
  void add_bucket(std::vector<BucketPart> parts);
  void keep_own_slices();
  void ready(size_t parameter);
  void send_ready(bool all);
  void plan();
  void plan_and_send();
  void share_buffers();
  void take_sums();
  std::vector<SliceGradient> own_gradients() const;
  void write_pieces(const Bucket& bucket, size_t part, const Tensor& own, const Writer& write);

  Communicator& ranks_;
  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const DistributedOptions options_;
  Tensors parameters_;  // the optimizer's parameters
  std::vector<Shape> shapes_;
  LeafHooks hooks_;
  std::vector<size_t> order_;  // in which the first backward produced gradients
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::optional<OptimizerSlices> slices_;  // with sharding
  std::vector<size_t> bucket_of_;          // bucket of each parameter
  std::vector<int64_t> awaited_;           // gradients that each bucket is still waiting for
  std::vector<char> has_gradient_;         // parameters with a gradient since the last update, on this rank
  std::vector<char> present_;              // the same on any rank
  std::vector<Bucket*> whole_buckets_;     // of parameters that are not sharded
  std::unique_ptr<ShardedParameters> sharded_parameters_;  // sharded parameters, with Sharding::parameters
  size_t next_ = 0;                                        // next bucket to send
  bool sending_ = false;
  double sent_at_ = 0;  // when the first bucket of the exchange was sent
  ExchangeStats stats_;
};

/// While in scope, the parameters are whole on every rank.
class GatheredParameters {
 public:
  /// A null pointer has no effect.
  explicit GatheredParameters(Distributed* distributed) : distributed_(distributed) {
    if (distributed_) distributed_->gather_parameters();
  }
  ~GatheredParameters() {
    if (distributed_) distributed_->release_parameters();
  }
  GatheredParameters(const GatheredParameters&) = delete;
  GatheredParameters& operator=(const GatheredParameters&) = delete;

 private:
  Distributed* const distributed_;
};

}  // namespace tape::train
