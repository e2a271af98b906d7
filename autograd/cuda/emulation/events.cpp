#include "autograd/cuda/emulation/events.h"

#include <cstdint>

#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/streams.h"

namespace tape::cuda_device::emulation {
namespace {

/// Number of the last work before the event.
uint64_t& position_of(void* event) { return *static_cast<uint64_t*>(event); }

}  // namespace

Result create_event(void** event, unsigned) {
  *event = new uint64_t{0};
  return result::success;
}

Result record_event(void* event, void* stream) {
  if (const Result refused = refuse_captured(stream)) return refused;
  const auto lock = work_queue().lock();
  position_of(event) = work_queue().submitted();
  return result::success;
}

Result wait_for_event(void* event) {
  const auto lock = work_queue().lock();
  work_queue().run_until(position_of(event));
  return result::success;
}

Result query_event(void* event) {
  WorkQueue& queue = work_queue();
  const auto lock = queue.lock();
  if (queue.completed() >= position_of(event)) return result::success;
  queue.run_until(queue.completed() + 1);
  return result::not_ready;
}

Result destroy_event(void* event) {
  delete static_cast<uint64_t*>(event);
  return result::success;
}

}  // namespace tape::cuda_device::emulation
