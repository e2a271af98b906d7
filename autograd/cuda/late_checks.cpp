#include "autograd/cuda/late_checks.h"

#include <algorithm>
#include <utility>

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
  count_launches_of_this_thread();  // of a check whose launch threw
  checks_.push_back({++added_, std::this_thread::get_id(), launches_, 0, added});
  ++not_launched_;
  return {finding, added_};
}

void LateChecks::launched() {
  const std::lock_guard lock(mutex_);
  count_launches_of_this_thread();
}

void LateChecks::count_launches_of_this_thread() {
  // The newest are the most likely.
  for (auto check = checks_.rbegin(); not_launched_ > 0 && check != checks_.rend(); ++check) {
    if (check->launch || check->thread != std::this_thread::get_id()) continue;
    check->launch = ++launches_;
    --not_launched_;
    return;
  }
}

/// Removes and returns the checks that were launched and for which `ran` is true.
template <class Ran>
LateChecks::Checks LateChecks::take_launched(const Ran& ran) {
  Checks done, kept;
  for (Check& check : checks_) (check.launch != 0 && ran(check) ? done : kept).push_back(std::move(check));
  checks_ = std::move(kept);
  return done;
}

void LateChecks::passed(int64_t number) {
  Checks done;  // freed without the lock, since messages may hold tensors
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(checks_, number, &Check::number);
  if (found == checks_.end()) return;
  // Other threads may have launched checks with smaller numbers after it.
  const int64_t before = found->launches_before;
  done = take_launched([=](const Check& check) { return check.number == number || check.launch <= before; });
}

void LateChecks::wait(const char* what) {
  Checks done;  // freed without the lock
  std::unique_lock lock(mutex_);
  const int64_t last = launches_;
  // Under the lock, so that a finding that another thread has read is cleared before it is read again.
  flush_work(context_, ListEnd::wait);
  if (checks_.empty()) lock.unlock();
  if (lock)
    check(context_.driver->memcpy_to_host(on_host_, reinterpret_cast<DevicePointer>(on_device_), sizeof(*on_host_),
                                          context_.stream),
          what);
  check(context_.driver->stream_synchronize(context_.stream), what);
  if (!lock) return;
  const kernels::Finding found = *on_host_;
  ValueCheck failed;
  if (found.check != 0) {
    // It is still kept: the thread that removes a failed check also clears the finding.
    const auto index = std::ranges::find(checks_, found.check, &Check::number) - checks_.begin();
    failed = checks_.at(static_cast<size_t>(index)).check;
    fill_bytes(on_device_, 0, sizeof(kernels::Finding));
  }
  done = take_launched([=](const Check& check) { return check.launch <= last; });
  lock.unlock();  // the message may read values
  if (found.check != 0) throw Error(failed.kind, failed.message(found.position, found.value));
}

}  // namespace tape::cuda_device

namespace tape::device_checks {

Place begin(const ValueCheck& check) { return cuda_device::context().checks->add(check); }
void passed(int64_t number) { cuda_device::context().checks->passed(number); }
void end() {
  cuda_device::context().checks->launched();
  if (cuda_device::context().blocking) cuda_device::synchronize();
}
const kernels::Finding* findings() { return cuda_device::context().checks->findings(); }

}  // namespace tape::device_checks
