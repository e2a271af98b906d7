#include "autograd/cuda/emulation/work_queue.h"

#include <utility>

#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr size_t kMostWaiting = 4096;

}  // namespace

void WorkQueue::submit(std::function<void()> work) { add({std::move(work), true}); }

void WorkQueue::submit_note(std::shared_ptr<double> microseconds) {
  add({[this, to = std::move(microseconds)] { *to = microseconds_; }, false});
}

void WorkQueue::request_allocation(char* address, size_t bytes) {
  if (bytes > 0 && !memory_.is_accessible(address, bytes))
    raise(ErrorKind::device, "emulated device: an allocation of {} bytes is not in memory that is mapped", bytes);
  requested_.set(address, bytes);
}

void WorkQueue::submit_allocation(char* address, size_t bytes, size_t capacity) {
  const auto lock = this->lock();
  request_allocation(address, bytes);
  add({[this, address, bytes, capacity] { memory_.set_allocated(address, bytes, capacity); }, false});
}

void WorkQueue::add(Work work) {
  const auto lock = this->lock();
  // Allocations are not counted: memory is also freed where nothing can be thrown.
  if (waiting_.size() >= kMostWaiting && work.takes_time) run();
  ++submitted_;
  waiting_.push_back(std::move(work));
  if (!deferred_) run();
}

void WorkQueue::run_until(uint64_t position) {
  const auto lock = this->lock();
  if (completed() >= position) return;
  const DeviceMemory::Access access(memory_);
  try {
    while (completed() < position) run_first();
  } catch (...) {
    drop_all();
    throw;
  }
}

void WorkQueue::run_first() {
  const Work work = std::move(waiting_.front());
  waiting_.pop_front();
  work.run();
  microseconds_ += work.takes_time;
}

void WorkQueue::drop_all() {
  while (!waiting_.empty()) {
    if (waiting_.front().takes_time) {
      waiting_.pop_front();
    } else {
      run_first();
    }
  }
}

}  // namespace tape::cuda_device::emulation
