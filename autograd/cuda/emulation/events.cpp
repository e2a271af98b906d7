#include "autograd/cuda/emulation/events.h"

#include <cstdint>

#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/streams.h"

namespace tape::cuda_device::emulation {
namespace {

struct Event {
  bool timed;
  uint64_t position = 0;                           // number of the last work before it
  std::shared_ptr<double> microseconds = nullptr;  // when it happened; null if it is not timed or was not recorded
};

constexpr unsigned kWithoutTiming = 2;  // a flag of events

Event& event_of(void* handle) { return *static_cast<Event*>(handle); }
bool has_happened(const Event& event) { return work_queue().completed() >= event.position; }

}  // namespace

Result create_event(void** event, unsigned flags) {
  *event = new Event{.timed = (flags & kWithoutTiming) == 0};
  return result::success;
}

Result record_event(void* event, void* stream) {
  if (const Result refused = refuse_captured(stream)) return refused;
  WorkQueue& queue = work_queue();
  const auto lock = queue.lock();
  Event& recorded = event_of(event);
  if (recorded.timed) {
    recorded.microseconds = std::make_shared<double>();
    queue.submit_note(recorded.microseconds);
  }
  recorded.position = queue.submitted();
  return result::success;
}

Result wait_for_event(void* event) {
  const auto lock = work_queue().lock();
  work_queue().run_until(event_of(event).position);
  return result::success;
}

Result query_event(void* event) {
  WorkQueue& queue = work_queue();
  const auto lock = queue.lock();
  if (has_happened(event_of(event))) return result::success;
  queue.run_until(queue.completed() + 1);
  return result::not_ready;
}

Result time_between_events(float* milliseconds, void* start, void* end) {
  const auto lock = work_queue().lock();
  const Event &from = event_of(start), &to = event_of(end);
  if (!from.microseconds || !to.microseconds) return result::invalid_handle;
  if (!has_happened(from) || !has_happened(to)) return result::not_ready;
  *milliseconds = static_cast<float>((*to.microseconds - *from.microseconds) / 1000);
  return result::success;
}

Result destroy_event(void* event) {
  delete static_cast<Event*>(event);
  return result::success;
}

}  // namespace tape::cuda_device::emulation
