#include "train/trainer/loader.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "autograd/tape/scope.h"
#include "base/check.h"
#include "base/error.h"
#include "text/corpus/batch_plan.h"

namespace tape::train {

EpochPlan::EpochPlan(std::vector<std::vector<int64_t>> batches)
    : count_(std::ssize(batches)),
      make_([all = std::move(batches)](int64_t batch) { return all[static_cast<size_t>(batch)]; }) {}

Plan shuffled_batches(int64_t examples, int64_t batch, uint64_t seed) {
  check_at_least_one("shuffled_batches", {{"examples", examples}, {"batch", batch}});
  return [=](int64_t epoch) -> EpochPlan {
    text::ShuffledBatches batches = text::plan_shuffled(examples, batch, seed, epoch);
    const int64_t count = batches.size();
    return {count, [batches = std::move(batches)](int64_t index) { return batches[index]; }};
  };
}

/// Makes the batch at any position. Not thread-safe.
class BatchSource::Maker {
 public:
  Maker(Plan plan, Collate collate) : plan_(std::move(plan)), collate_(std::move(collate)) {}

  int64_t batches(int64_t epoch) {
    if (planned_ != epoch) {
      planned_.reset();
      batches_ = plan_(epoch);
      planned_ = epoch;
    }
    return batches_.size();
  }

  /// The next item of a batch.
  Item make(DataPosition position) {
    const int64_t count = batches(position.epoch);
    if (count == 0) raise(ErrorKind::config, "Loader: the plan of epoch {} has no batches", position.epoch);
    if (position.batch >= count)
      raise(ErrorKind::config, "Loader: epoch {} has {} batches, so it cannot resume at batch {} (counted from 0)",
            position.epoch, count, position.batch);
    const std::vector<int64_t> all = batches_[position.batch];
    std::vector<int64_t> indices;
    for (size_t i = first_ + stride_ * part_; i < all.size(); i += stride_ * parts_) indices.push_back(all[i]);
    std::shared_ptr<void> batch;
    if (!indices.empty() || stride_ * parts_ == 1) batch = collate_(indices);
    part_ = (part_ + 1) % parts_;
    return {.batch = std::move(batch),
            .position = position,
            .batches = count,
            .indices = std::move(indices),
            .last_part = part_ == 0};
  }

  /// Moves to the first part of another batch.
  void begin_batch() { part_ = 0; }
  void divide(int64_t parts) {
    parts_ = static_cast<size_t>(parts);
    part_ = 0;
  }

  void share(int rank, int size) {
    first_ = static_cast<size_t>(rank);
    stride_ = static_cast<size_t>(size);
  }

  static DataPosition after(const Item& item) {
    const DataPosition& at = item.position;
    if (!item.last_part) return at;
    return at.batch + 1 < item.batches ? DataPosition{at.epoch, at.batch + 1} : DataPosition{at.epoch + 1, 0};
  }

 private:
  const Plan plan_;
  const Collate collate_;
  size_t first_ = 0, stride_ = 1;
  size_t part_ = 0, parts_ = 1;     // parts of a batch
  std::optional<int64_t> planned_;  // epoch of batches_
  EpochPlan batches_;
};

/// A thread that makes batches from a position on, up to `ahead` in advance. It stops at the first exception.
class BatchSource::Prefetch {
 public:
  Prefetch(Maker& maker, DataPosition position, int64_t ahead)
      : maker_(maker), ahead_(static_cast<size_t>(ahead)), thread_([this, position] { work(position); }) {}
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Item take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || failure_; });
    if (ready_.empty()) std::rethrow_exception(failure_);
    Item item = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return item;
  }

 private:
  void work(DataPosition position) {
    const NoGrad no_grad;
    try {
      for (;;) {
        Item item = maker_.make(position);
        position = Maker::after(item);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ready_.size() < ahead_ || stopping_; });
        if (stopping_) return;
        ready_.push_back(std::move(item));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  Maker& maker_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> ready_;
  std::exception_ptr failure_;
  bool stopping_ = false;
  std::thread thread_;  // last member, since it uses the others
};

BatchSource::BatchSource(Plan plan, Collate collate, int64_t prefetch) : prefetch_(prefetch) {
  if (!plan) raise(ErrorKind::config, "Loader: the plan function is missing");
  if (!collate) raise(ErrorKind::config, "Loader: the collate function is missing");
  if (prefetch < 0) raise(ErrorKind::config, "Loader: prefetch must not be negative, got {}", prefetch);
  maker_ = std::make_unique<Maker>(std::move(plan), std::move(collate));
}

BatchSource::~BatchSource() = default;

BatchSource::Item BatchSource::next() {
  try {
    if (prefetch_ > 0 && !thread_) thread_ = std::make_unique<Prefetch>(*maker_, position_, prefetch_);
  } catch (const std::system_error&) {
    prefetch_ = 0;  // no thread is available: make batches on request
  }
  try {
    Item item = thread_ ? thread_->take() : maker_->make(position_);
    position_ = Maker::after(item);
    return item;
  } catch (...) {
    thread_.reset();
    throw;
  }
}

void BatchSource::divide(int64_t parts) {
  TAPE_ASSERT(parts >= 1);
  thread_.reset();
  maker_->divide(parts);
}

void BatchSource::share(int rank, int size) {
  TAPE_ASSERT(rank >= 0 && rank < size);
  thread_.reset();
  maker_->share(rank, size);
}

void BatchSource::seek(DataPosition position) {
  if (position.epoch < 0 || position.batch < 0)
    raise(ErrorKind::config, "Loader: invalid position: epoch {}, batch {}", position.epoch, position.batch);
  thread_.reset();
  maker_->begin_batch();
  position_ = position;
}

DataPosition BatchSource::seek_within(DataPosition position) {
  seek(position);
  if (position.batch >= maker_->batches(position.epoch)) seek({.epoch = position.epoch + 1, .batch = 0});
  return position_;
}

}  // namespace tape::train
