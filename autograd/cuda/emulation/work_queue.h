#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device_memory.h"

namespace tape::cuda_device::emulation {

/// What the emulated device was asked for and has not done yet, in the order of the calls: its one stream.
class WorkQueue : NonCopyable {
 public:
  /// With `deferred`, work runs when something waits for it, otherwise within submit().
  WorkQueue(DeviceMemory& memory, bool deferred) : memory_(memory), deferred_(deferred) {}

  /// Adds work, which may access device memory. A full queue runs first, as calls of a real driver wait then.
  void submit(std::function<void()> work);
  /// The same for allocations, which are not dropped after a fault.
  void submit_allocation(char* address, size_t bytes, size_t capacity);

  /// Notes the pretended time when the work so far is done, also after a fault.
  void submit_note(std::shared_ptr<double> microseconds);
  /// Makes the work that is running take longer than a microsecond.
  void take_longer(double microseconds) { microseconds_ += microseconds; }
  /// The pretended time at which the last work ended.
  double microseconds() const { return microseconds_; }

  /// Changes requested() only, for an allocation that other work applies. Throws Error (device) if it is in memory that
  /// is not mapped.
  void request_allocation(char* address, size_t bytes);

  /// Runs all work. What one of it throws drops the rest.
  void run() { run_until(submitted_); }
  /// Runs the work up to the one with this number.
  void run_until(uint64_t position);
  /// Number of works submitted, and of those that have run or were dropped.
  uint64_t submitted() const { return submitted_; }
  uint64_t completed() const { return submitted_ - waiting_.size(); }

  /// The allocations at the time of the call, which the queue applies to the memory in its order.
  const Allocations& requested() const { return requested_; }
  /// To be held by a call of the driver; also serializes the calls of several threads.
  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

 private:
  struct Work {
    std::function<void()> run;
    bool takes_time;  // unlike allocations and notes, which are not dropped
  };

  void add(Work work);
  void run_first();
  void drop_all();

  DeviceMemory& memory_;
  bool deferred_;
  std::recursive_mutex mutex_;
  std::deque<Work> waiting_;
  uint64_t submitted_ = 0;
  double microseconds_ = 0;
  Allocations requested_;
};

}  // namespace tape::cuda_device::emulation
