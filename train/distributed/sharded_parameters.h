#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../../autograd/tape/observer.h"
#include "../../nn/module/hook_scope.h"
#include "bucket.h"

namespace tape::train {

/// One layer of a model: a module in a list of modules (nn::Children), and the indices in `parameters` of the trainable
/// parameters that only it and its submodules own, all of the first one's dtype.
struct Layer {
  nn::Module* module = nullptr;
  std::vector<size_t> parameters;
};
/// The outermost list elements with such parameters, in the order of the model.
std::vector<Layer> layers_of(nn::Module& model, const Tensors& parameters);

/// Sharded layer parameters: each rank stores its share of a layer's bucket, and the whole layer only while the layer
/// computes (ZeRO 3; Rajbhandari et al. 2020, 5.3, and 7.2.2 on the communication volume).
///
/// A layer's parameters are gathered before its forward (by a pre-hook) and before the backward reaches an operation
/// that read one of them (Observer::on_backward). They are dropped afterwards unless they are needed next. Meanwhile
/// the next layer's parameters are prefetched, in the order in which the previous batch needed them. A dropped
/// parameter has shape [0], so reading it outside of its layer throws a shape Error. Tensors saved on the tape are
/// handles of the parameter itself and follow it; any other view keeps the gathered memory alive.
///
/// Ranks need not gather the same layers, or equally often: before each gathering all ranks announce the layer they
/// request, and all take part in each. A rank with nothing to compute serves the others (serve()).
class ShardedParameters : private Observer {
 public:
  /// `buckets`: one per layer with its parameters, which are whole now and are dropped immediately.
  ShardedParameters(Communicator& ranks, Tensors parameters, std::vector<Layer> layers,
                    const std::vector<const Bucket*>& buckets);
  ~ShardedParameters() override;

  /// A parameter's values in this rank's share as a 1-D tensor; undefined for a parameter outside of layers.
  Tensor share_of(const ParameterSlice& slice);
  /// Must be called after the tensors from share_of() were modified in place.
  void changed();

  /// Must be called before a backward: no more layers run forward.
  void begin_backward();
  /// Takes part in the gatherings of other ranks until none needs one, then drops all layers. All ranks must call it
  /// after each backward.
  void serve();
  /// Gathers all parameters until release_all() has been called as often; meanwhile they may be written. All ranks must
  /// call it, outside of an update. release_all() allocates no memory.
  void gather_all();
  void release_all();

  int64_t sent_bytes() const { return sent_; }
  double waited() const { return waited_; }  ///< seconds

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Shard {
    std::vector<BucketPart> parts;
    std::vector<Shape> shapes;  // shapes of the parameters
    DType dtype;
    int64_t chunk;      // values per share
    Ref<Storage> own;   // this rank's share; null while its values are only in `whole`
    Ref<Storage> kept;  // memory reserved for `own` meanwhile: release_all() must not fail
    Ref<Storage> none;  // storage of dropped parameters
    Ref<Storage> whole;
    Ref<Storage> incoming;
    std::unique_ptr<Transfer> transfer;
    int64_t running = 0;   // active calls of the module
    uint64_t version = 0;  // version of its values
  };
  /// A gathering for another rank.
  struct ForeignGather {
    Ref<Storage> storage;
    std::unique_ptr<Transfer> transfer;
  };

  void on_use(TensorList inputs) override;
  void on_backward(const Node& node) override;

  int64_t share_bytes(const Shard& shard) const { return shard.chunk * size_of(shard.dtype); }
  void need(size_t layer);
  void ran(size_t layer);
  size_t next() const;
  bool gather_requested(size_t wanted);
  void start(size_t layer, bool for_me);
  void take(Shard& shard);
  void keep_own(Shard& shard);
  void drop(Shard& shard);
  void poll();

  Communicator& ranks_;
  Tensors parameters_;
  nn::HookScope hooks_;
  std::vector<Shard> shards_;
  std::unordered_map<const Node*, size_t> layer_of_;  // by leaf node
  std::vector<ForeignGather> foreign_gathers_;
  size_t current_ = kNone;
  size_t in_flight_ = kNone;
  std::vector<size_t> known_, seen_;  // layers in order of use: by the last batch, by this batch
  int64_t gather_count_ = 0;
  int64_t sent_ = 0;
  double waited_ = 0;
};

}  // namespace tape::train
