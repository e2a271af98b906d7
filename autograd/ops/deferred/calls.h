#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "../kernel_call.h"

// On a GPU, some results are computed when they are first used. By then more is known, so that several operations are
// one launch (product.h, dropped_sum.h).
//
// The tape and the tensors are the same with and without. Storage (memory.h) begins a call before its result is read
// and before an operand changes; a call whose result is freed never runs. Nothing is deferred while an observer is
// open, so that it sees each operation's own cost, or with TAPE_CUDA_BLOCKING=1.

namespace tape {

/// A call of kernels that is launched when its result is first used.
class DeferredCall : NonCopyable {
 public:
  /// Of `at`'s device. The operands, of which some may be undefined, are computed if they are deferred themselves;
  /// `result` is as large as its storage, and loses its block until the launch.
  DeferredCall(const KernelCall& at, std::initializer_list<const Tensor*> operands, Tensor& result);
  virtual ~DeferredCall() = default;

  /// Whether both can be launched together, which have results of the same size.
  virtual bool is_beside(const DeferredCall&) const { return false; }
  /// Writes the results of calls beside each other, of which this is the first, to `blocks`.
  virtual void launch(std::span<const DeferredCall* const> together, std::span<void* const> blocks) const = 0;

  Device device() const { return device_; }
  DType dtype() const { return dtype_; }  ///< of the result
  Storage& result() const { return *result_; }
  const std::vector<Ref<Storage>>& operands() const { return operands_; }
  bool reads(const Storage& storage) const;

 private:
  Device device_;
  DType dtype_;
  Storage* result_;
  std::vector<Ref<Storage>> operands_;
};

/// Whether calls of a device may be deferred now.
bool may_defer(const KernelCall& at);

/// All threads' deferred calls, in order.
class DeferredCalls : public DeferredWork {
 public:
  static DeferredCalls& instance();

  void add(std::unique_ptr<DeferredCall> call);
  /// Calls use(call) with the call that will write x. Returns false if x is not such a call's whole result.
  template <class Call, class Use>
  bool read(const Tensor& x, const Use& use) {
    if (!x.impl().storage->is_deferred()) return false;
    const std::lock_guard lock(mutex_);
    const Call* const call = dynamic_cast<const Call*>(find(x));
    if (call) use(*call);
    return call;
  }
  /// The same for a call whose result is written by other kernels: use(call, block) launches them.
  template <class Call, class Use>
  bool launch_with(const Tensor& x, const Use& use) {
    if (!x.impl().storage->is_deferred()) return false;
    std::vector<std::unique_ptr<DeferredCall>> done;  // which may free storages, after the lock
    const std::lock_guard lock(mutex_);
    const Call* const call = dynamic_cast<const Call*>(find(x));
    if (call) launch({call}, done, [&](std::span<void* const> blocks) { use(*call, blocks.front()); });
    return call;
  }

  void begin(const Storage& storage) override;
  void drop(const Storage& result) noexcept override;
  void begin_all(Device device) override;

 private:
  using Calls = std::vector<std::unique_ptr<DeferredCall>>;

  /// The call that will write all of x, or null.
  const DeferredCall* find(const Tensor& x) const;
  /// Launches call i and those beside it, and moves them to `done`.
  void run(size_t i, Calls& done);
  void launch(std::vector<const DeferredCall*> together, Calls& done,
              const std::function<void(std::span<void* const> blocks)>& to_blocks);
  std::vector<const DeferredCall*> beside(size_t i) const;
  void unmark(const DeferredCall& ended);

  std::mutex mutex_;
  Calls calls_;
};

}  // namespace tape
