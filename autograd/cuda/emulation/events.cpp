#include "autograd/cuda/emulation/events.h"

#include <cstdint>

#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/streams.h"

namespace tape::cuda_device::emulation {
namespace {

struct Event {
  bool timed;
  bool recorded = false;
  uint64_t position = 0;  // number of the last work before it
  uint64_t time = 0;      // in works other than allocations
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
  recorded.recorded = true;
  recorded.position = queue.submitted();
  recorded.time = queue.submitted_without_allocations();
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
  for (const Event& event : {from, to})
    if (!event.timed || !event.recorded) return result::invalid_handle;
  if (!has_happened(from) || !has_happened(to)) return result::not_ready;
  *milliseconds = 1e-3F * static_cast<float>(static_cast<int64_t>(to.time - from.time));
  return result::success;
}

Result destroy_event(void* event) {
  delete static_cast<Event*>(event);
  return result::success;
}

}  // namespace tape::cuda_device::emulation
