#include "autograd/cuda/late_checks.h"

#include <algorithm>
#include <iterator>

#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"
#include "autograd/cuda/memory.h"
#include "autograd/cuda/stream.h"

namespace tape::cuda_device {
namespace {

constexpr int64_t kMostKept = 4096;  // a training step makes a few

}  // namespace

kernels::Finding* LateChecks::place() {
  if (!on_device_) {
    constexpr int64_t kBytes = sizeof(kernels::Finding);
    on_host_ = static_cast<kernels::Finding*>(allocate_pinned(kBytes));
    int64_t capacity = 0;  // both live as long as the context
    on_device_ = static_cast<kernels::Finding*>(allocate(kBytes, capacity));
    fill_bytes(on_device_, 0, kBytes);
  }
  return on_device_;
}

kernels::Finding* LateChecks::findings() {
  const std::lock_guard lock(mutex_);
  return place();
}

device_checks::Place LateChecks::add(const ValueCheck& added) {
  std::unique_lock lock(mutex_);
  if (std::ssize(checks_) >= kMostKept) {
    lock.unlock();
    wait("check of values");
    lock.lock();
  }
  kernels::Finding* const finding = place();
  checks_.push_back(added);
  return {finding, first_ + std::ssize(checks_) - 1};
}

void LateChecks::passed(int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto count = std::clamp<int64_t>(number - first_ + 1, 0, std::ssize(checks_));
  checks_.erase(checks_.begin(), checks_.begin() + count);
  first_ += count;
}

void LateChecks::wait(const char* what) {
  flush_work(context_, ListEnd::wait);
  std::unique_lock lock(mutex_);
  if (checks_.empty()) lock.unlock();
  if (lock)
    check(context_.driver->memcpy_to_host(on_host_, reinterpret_cast<DevicePointer>(on_device_), sizeof(*on_host_),
                                          context_.stream),
          what);
  check(context_.driver->stream_synchronize(context_.stream), what);
  if (!lock) return;
  std::vector<ValueCheck> done;
  done.swap(checks_);
  const int64_t first = first_;
  first_ += std::ssize(done);
  const kernels::Finding found = *on_host_;
  if (found.check == 0) return;
  fill_bytes(on_device_, 0, sizeof(kernels::Finding));
  lock.unlock();  // the message may read values
  const ValueCheck& failed = done.at(static_cast<size_t>(found.check - first));
  throw Error(failed.kind, failed.message(found.position, found.value));
}

}  // namespace tape::cuda_device

namespace tape::device_checks {

Place begin(const ValueCheck& check) { return cuda_device::context().checks->add(check); }
void passed(int64_t number) { cuda_device::context().checks->passed(number); }
void end() {
  if (cuda_device::context().blocking) cuda_device::synchronize();
}
const kernels::Finding* findings() { return cuda_device::context().checks->findings(); }

}  // namespace tape::device_checks
