#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../../autograd/tape/observer.h"
#include "../../nn/module/hook_scope.h"
#include "bucket.h"

namespace tape::train {

/// One layer of a model: a module of a list of modules (nn::Children), and the parameters that it and the modules below
/// it hold and nobody else does, by their numbers in `parameters`: trained ones, all of the first one's dtype.
struct Layer {
  nn::Module* module = nullptr;
  std::vector<size_t> parameters;
};
/// The outermost modules of lists that hold such parameters, in the order of the model.
std::vector<Layer> layers_of(nn::Module& model, const Tensors& parameters);

/// Parameters of layers in shares: each rank holds the values that lie in its share of a layer's bucket, and all of a
/// layer's while the layer computes (ZeRO 3; Rajbhandari et al. 2020, 5.3, and 7.2.2 on what is sent).
///
/// A layer's parameters are gathered before it runs forward (by its pre-hook) and before the backward comes to an
/// operation that read one of them (Observer::on_backward); they are dropped behind it, unless they are what is
/// needed next. Meanwhile the next layer's are on their way, as they were needed for the batch before. A dropped
/// parameter has the shape [0], so that whoever reads it outside its layer is told by an Error of shapes. Saved values
/// of the tape are handles of the parameter itself and follow it; a view that somebody else holds keeps what it sees
/// in memory.
///
/// Ranks need not gather the same layers, or as often: before any gathering all meet and say which they want, and all
/// take part in each. A rank that has nothing to compute serves the others (serve()).
class SpreadParameters : private Observer {
 public:
  /// `buckets`: one for each layer, of its parameters. They are whole now and dropped at once.
  SpreadParameters(Communicator& ranks, Tensors parameters, std::vector<Layer> layers,
                   const std::vector<const Bucket*>& buckets);
  ~SpreadParameters() override;

  /// The values of a parameter in this rank's share as one row, undefined for a parameter that is in no layer.
  Tensor share_of(const ParameterSlice& slice);
  /// What share_of() gave was changed in place.
  void changed();

  /// A backward begins: no layer runs forward any more.
  void begin_backward();
  /// Takes part in the others' gatherings until no rank needs one more, and drops what is left. Called by all ranks
  /// behind each backward, of whatever.
  void serve();
  /// Gathers all parameters, which then stay until as many calls of let_go(); own values are written in them. Called by
  /// all ranks, outside of an update. let_go() needs no memory.
  void hold();
  void let_go();

  int64_t sent_bytes() const { return sent_; }
  double waited() const { return waited_; }  ///< seconds

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Shard {
    std::vector<BucketPart> parts;
    std::vector<Shape> shapes;  // of the parameters
    DType dtype;
    int64_t chunk;      // values of a share
    Ref<Storage> own;   // this rank's share; null while it lies in `whole` alone
    Ref<Storage> kept;  // the memory of `own` meanwhile: let_go() is called where nothing may fail
    Ref<Storage> none;  // what dropped parameters have
    Ref<Storage> whole;
    Ref<Storage> coming;
    std::unique_ptr<Transfer> transfer;
    int64_t running = 0;   // calls of the module
    uint64_t version = 0;  // of its values
  };
  /// What another rank wanted.
  struct Guest {
    Ref<Storage> storage;
    std::unique_ptr<Transfer> transfer;
  };

  void on_use(TensorList inputs) override;
  void on_backward(const Node& node) override;

  int64_t share_bytes(const Shard& shard) const { return shard.chunk * size_of(shard.dtype); }
  void need(size_t layer);
  void ran(size_t layer);
  size_t next() const;
  bool meet(size_t wanted);
  void start(size_t layer, bool for_me);
  void take(Shard& shard);
  void keep_own(Shard& shard);
  void drop(Shard& shard);
  void poll();

  Communicator& ranks_;
  Tensors parameters_;
  nn::HookScope hooks_;
  std::vector<Shard> shards_;
  std::unordered_map<const Node*, size_t> layer_of_;  // of the leaves
  std::vector<Guest> guests_;
  size_t current_ = kNone;
  size_t on_its_way_ = kNone;
  std::vector<size_t> known_, seen_;  // layers in the order in which the last batch needed them, and this one
  int64_t holders_ = 0;
  int64_t sent_ = 0;
  double waited_ = 0;
};

}  // namespace tape::train
