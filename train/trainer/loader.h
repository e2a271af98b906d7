#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tape::train {

/// Position in the data: the next batch.
struct DataPosition {
  int64_t epoch = 0;                                     ///< from 0
  int64_t batch = 0;                                     ///< within the epoch, from 0
  bool operator==(const DataPosition&) const = default;  ///< memberwise
};

/// The batches of an epoch in order, each as indices of examples.
class EpochPlan {
 public:
  EpochPlan() = default;
  /// From a list.
  EpochPlan(std::vector<std::vector<int64_t>> batches);
  /// From a function that makes each batch on request; called by one thread at a time.
  EpochPlan(int64_t count, std::function<std::vector<int64_t>(int64_t batch)> make)
      : count_(count), make_(std::move(make)) {}

  /// Number of batches.
  int64_t size() const { return count_; }
  /// Indices of a batch's examples; `batch` is in [0, size()).
  std::vector<int64_t> operator[](int64_t batch) const { return make_(batch); }

 private:
  int64_t count_ = 0;
  std::function<std::vector<int64_t>(int64_t batch)> make_;
};

/// Returns the plan of an epoch; it may return a list of batches. The same epoch must give the same batches, as an
/// exact resume requests them again.
using Plan = std::function<EpochPlan(int64_t epoch)>;

/// All examples in batches, in a new random order each epoch, which depends on (seed, epoch); the last batch of an
/// epoch may be smaller. Throws Error (config) unless examples and batch are at least 1.
Plan shuffled_batches(int64_t examples, int64_t batch, uint64_t seed = 1);

/// The part of a Loader that is independent of the batch type.
class BatchSource {
 public:
  /// A batch, or a part of one (divide()).
  struct Item {
    std::shared_ptr<void> batch;        ///< what Collate returned; null without examples
    DataPosition position = {};         ///< position of this batch
    int64_t batches = 0;                ///< number of batches in its epoch
    std::vector<int64_t> indices = {};  ///< its examples for this process and in this part
    bool last_part = true;              ///< whether the next item is of another batch
  };
  /// Makes a batch of examples, see LoaderOptions::collate.
  using Collate = std::function<std::shared_ptr<void>(const std::vector<int64_t>& indices)>;

  /// Starts at epoch 0, batch 0, on this process alone. Throws Error (config) without plan or collate, or for a
  /// negative prefetch.
  BatchSource(Plan plan, Collate collate, int64_t prefetch);
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  /// Splits each batch over `size` processes: process `rank`, from 0, makes every size-th example starting at that
  /// index. An item without examples has a null batch.
  void share(int rank, int size);
  /// Splits every batch into `parts` successive items, dealing out its examples among them; an item without examples
  /// has a null batch. Call only between two batches.
  void divide(int64_t parts);
  /// The next item, waiting for it if necessary. Rethrows exceptions of plan and collate; throws Error (config) as
  /// Loader.
  Item next();
  /// Position of the next item; parts of a batch have the same.
  DataPosition position() const { return position_; }
  /// Continues from a position, discarding prefetched items. Throws Error (config) if it is negative.
  void seek(DataPosition position);
  /// Continues from a position of another plan, or from the next epoch if this plan has no such batch. Returns the
  /// position.
  DataPosition seek_within(DataPosition position);

 private:
  class Maker;
  class Prefetch;

  std::unique_ptr<Maker> maker_;
  int64_t prefetch_;
  DataPosition position_;
  std::unique_ptr<Prefetch> thread_;  // started by the first next() after a seek
};

/// Options of a Loader.
template <class Batch>
struct LoaderOptions {
  Plan plan;  ///< the batches of each epoch
  /// Makes a batch of examples. It runs on a separate thread during training, so it must not record operations or draw
  /// from the global generators, and the data it reads must not change.
  std::function<Batch(const std::vector<int64_t>& indices)> collate;
  int64_t prefetch = 4;  ///< number of batches made in advance; 0: made on request, on the caller's thread
};

/// Endless batches, epoch after epoch, in the order of the plan regardless of prefetching.
///
/// An exception of plan or collate is rethrown by the next() that would have returned the batch; the following call
/// tries that batch again. Throws Error (config) without plan or collate, for a negative prefetch, and in next() for an
/// epoch without batches or without a batch at the requested position.
template <class Batch>
class Loader {
 public:
  /// Starts at epoch 0, batch 0.
  explicit Loader(LoaderOptions<Batch> options)
      : source_(std::move(options.plan), erased(std::move(options.collate)), options.prefetch) {}

  /// The next batch. With prefetching it is made on another thread; waits until it is ready.
  Batch next() { return std::move(*static_cast<Batch*>(source_.next().batch.get())); }
  /// Position of the next batch: the Loader's entire state.
  DataPosition position() const { return source_.position(); }
  /// Continues from a position, discarding prefetched batches. Throws Error (config) if it is negative.
  void seek(DataPosition position) { source_.seek(position); }
  /// The part that is independent of Batch, owned by the Loader.
  BatchSource& source() { return source_; }

 private:
  static BatchSource::Collate erased(std::function<Batch(const std::vector<int64_t>&)> collate) {
    if (!collate) return {};
    return [collate = std::move(collate)](const std::vector<int64_t>& indices) -> std::shared_ptr<void> {
      return std::make_shared<Batch>(collate(indices));
    };
  }

  BatchSource source_;
};

}  // namespace tape::train
