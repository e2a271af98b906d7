#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tape::train {

/// A place in the data: the batch that comes next.
struct DataPosition {
  int64_t epoch = 0;  ///< from 0
  int64_t batch = 0;  ///< of the epoch, from 0
  bool operator==(const DataPosition&) const = default;
};

/// The batches of an epoch in their order, each the indices of its examples.
class EpochPlan {
 public:
  EpochPlan() = default;
  /// As a list.
  EpochPlan(std::vector<std::vector<int64_t>> batches);
  /// Batches that are made when they are asked for, on one thread at a time.
  EpochPlan(int64_t count, std::function<std::vector<int64_t>(int64_t batch)> make)
      : count_(count), make_(std::move(make)) {}

  int64_t size() const { return count_; }
  std::vector<int64_t> operator[](int64_t batch) const { return make_(batch); }

 private:
  int64_t count_ = 0;
  std::function<std::vector<int64_t>(int64_t batch)> make_;
};

/// The plan of an epoch; a function that gives a list of batches is one. The same epoch must give the same batches: an
/// exact resume asks for them again.
using Plan = std::function<EpochPlan(int64_t epoch)>;

/// The part of a Loader that does not depend on what a batch is.
class BatchSource {
 public:
  struct Item {
    std::shared_ptr<void> batch;
    DataPosition position = {};         ///< of this batch
    int64_t batches = 0;                ///< of its epoch
    std::vector<int64_t> indices = {};  ///< its examples, as far as they are this process's and in this part
    bool last_part = true;              ///< whether the next item is of another batch
  };
  using Collate = std::function<std::shared_ptr<void>(const std::vector<int64_t>& indices)>;

  BatchSource(Plan plan, Collate collate, int64_t prefetch);
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  /// Of `size` processes that share each batch this is number `rank`, from 0: of each batch it makes every size-th
  /// example from that number on. Where there is none, an item's batch is null.
  void share(int rank, int size);
  /// From now on every batch comes in so many items, one behind the other, its examples dealt out among them; where
  /// there are too few, an item's batch is null. Between two batches only.
  void divide(int64_t parts);
  Item next();
  DataPosition position() const { return position_; }
  void seek(DataPosition position);
  /// Goes on from a position of another plan: from the next epoch where this one has no such batch. Gives the place.
  DataPosition seek_within(DataPosition position);

 private:
  class Maker;
  class Prefetch;

  std::unique_ptr<Maker> maker_;
  int64_t prefetch_;
  DataPosition position_;
  std::unique_ptr<Prefetch> thread_;  // started by the first next() after a seek
};

template <class Batch>
struct LoaderOptions {
  Plan plan;
  /// Makes a batch of examples. It runs on a thread of its own beside the training: it must not record operations nor
  /// draw from the global generators, and what it reads must not change.
  std::function<Batch(const std::vector<int64_t>& indices)> collate;
  int64_t prefetch = 4;  ///< batches made ahead; 0: each is made when it is asked for, on the caller's thread
};

/// Batches without end, epoch after epoch, in the order of the plan whatever is made ahead.
///
/// What plan and collate throw comes out at the next() whose batch it would have been; the call after it tries that
/// batch again. Errors: ErrorKind::config without plan or collate, for a negative prefetch, and at next() for an epoch
/// without batches, or one that has no batch at the position sought.
template <class Batch>
class Loader {
 public:
  explicit Loader(LoaderOptions<Batch> options)
      : source_(std::move(options.plan), erased(std::move(options.collate)), options.prefetch) {}

  Batch next() { return std::move(*static_cast<Batch*>(source_.next().batch.get())); }
  /// Where the next batch stands: all there is to save.
  DataPosition position() const { return source_.position(); }
  /// Goes on from a position; what was made ahead is dropped. Error (config) for a negative one.
  void seek(DataPosition position) { source_.seek(position); }
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
