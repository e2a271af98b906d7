#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <typeinfo>
#include <vector>

#include "../kernel_call.h"

// On a GPU, some results are computed when they are first used. By then more is known, so that several operations are
// one launch (product.h, dropped_sum.h, norm_totals.h).
//
// The tape and the tensors are the same with and without. Storage (memory.h) begins a call before its result is read
// and before an operand changes; a call whose result is freed never runs. Nothing is deferred while an observer is
// open, so that it sees each operation's own cost, or with TAPE_CUDA_BLOCKING=1.

namespace tape {

/// A call of kernels that is launched when one of its results is first used.
class DeferredCall : NonCopyable {
 public:
  /// Of `at`'s device, with up to 3 operands and 2 results, of which some may be undefined. Operands that are deferred
  /// themselves are computed. Results have one dtype and are as large as their storages, which lose their blocks until
  /// the launch.
  DeferredCall(const KernelCall& at, std::initializer_list<const Tensor*> operands,
               std::initializer_list<Tensor*> results);
  virtual ~DeferredCall() = default;

  /// Whether both can be launched together, which have as many results of the same size.
  virtual bool is_beside(const DeferredCall&) const { return false; }
  /// Most calls of one launch.
  virtual size_t most_together() const { return 1; }
  /// Most calls of a kind that wait. More would keep the memory of their operands for long.
  virtual size_t most_waiting() const { return 8; }
  /// Writes the results of calls beside each other, of which this is the first, to `blocks`: a block for each result of
  /// each call, or null.
  virtual void launch(std::span<const DeferredCall* const> together, std::span<void* const> blocks) const = 0;

  Device device() const { return device_; }
  DType dtype() const { return dtype_; }  ///< of the results
  /// Null where a result is undefined or was freed.
  std::span<Storage* const> results() const { return std::span(results_).first(result_count_); }
  std::span<const Ref<Storage>> operands() const { return std::span(operands_).first(operand_count_); }
  /// Whether both are of one kind.
  bool is_like(const DeferredCall& other) const { return typeid(*this) == typeid(other); }
  bool reads(const Storage& storage) const;
  bool writes(const Storage& storage) const;
  /// Drops a result, which is being freed. Returns whether no other is left.
  bool drop(const Storage& result);

 private:
  Device device_;
  DType dtype_ = DType::f32;
  size_t operand_count_ = 0, result_count_ = 0;
  std::array<Ref<Storage>, 3> operands_;
  std::array<Storage*, 2> results_ = {};
};

/// Whether calls of a device may be deferred now.
bool may_defer(const KernelCall& at);
/// A tensor that may become the result of such a call, and takes memory when it is first used otherwise.
Tensor empty_result(const Shape& shape, const TensorOptions& options);

/// All threads' deferred calls, in order.
class DeferredCalls : public DeferredWork {
 public:
  static DeferredCalls& instance();

  void add(std::unique_ptr<DeferredCall> call);
  /// Calls use(call) with the call that will write x. Returns false if x is not the whole result of such a call.
  template <class Call, class Use>
  bool read(const Tensor& x, const Use& use) {
    if (!x.impl().storage->is_deferred()) return false;
    const std::lock_guard lock(mutex_);
    const Call* const call = dynamic_cast<const Call*>(find(x));
    if (call) use(*call);
    return call;
  }
  /// The same for a call of one result that other kernels write: use(call, block) launches them.
  template <class Call, class Use>
  bool launch_with(const Tensor& x, const Use& use) {
    if (!x.impl().storage->is_deferred()) return false;
    std::vector<std::unique_ptr<DeferredCall>> done;  // which may free storages, after the lock
    const std::lock_guard lock(mutex_);
    const Call* const call = dynamic_cast<const Call*>(find(x));
    if (call) launch({call}, done, [&](std::span<void* const> blocks) { use(*call, blocks.front()); });
    return call;
  }

  void begin(Storage& storage) override;
  void drop(const Storage& result) noexcept override;
  void begin_all(Device device) override;

 private:
  DeferredCalls() { follow_synchronize(); }
  using Calls = std::vector<std::unique_ptr<DeferredCall>>;

  /// The call that will write all of x, or null.
  const DeferredCall* find(const Tensor& x) const;
  /// Launches call i and those beside it, and moves them to `done`.
  void run(size_t i, Calls& done);
  void launch(const std::vector<const DeferredCall*>& together, Calls& done,
              const std::function<void(std::span<void* const> blocks)>& to_blocks);
  std::vector<const DeferredCall*> beside(size_t i) const;
  void unmark(const DeferredCall& ended);

  std::mutex mutex_;
  Calls calls_;
};

}  // namespace tape
