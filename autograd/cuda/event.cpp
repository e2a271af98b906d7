#include "autograd/cuda/event.h"

#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"

namespace tape::cuda_device {

Event::Event(EventTiming timing) : driver_(context().driver), generation_(driver_generation()) {
  constexpr unsigned kDefault = 0, kWithoutTiming = 2;
  check(driver_->event_create(&handle_, timing == EventTiming::on ? kDefault : kWithoutTiming), "cuEventCreate");
}

Event::~Event() {
  if (generation_ == driver_generation()) driver_->event_destroy(handle_);
}

void Event::record() {
  flush_work(context(), ListEnd::event);
  record_launched();
}

void Event::record_launched() { check(driver_->event_record(handle_, context().stream), "record an event"); }

void Event::wait() const { check(driver_->event_synchronize(handle_), "wait for an event"); }

bool Event::done() const {
  const Result result = driver_->event_query(handle_);
  if (result == result::not_ready) return false;
  check(result, "query an event");
  return true;
}

double Event::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  check(driver_->event_elapsed_time(&milliseconds, earlier.handle_, handle_), "time between two events");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace tape::cuda_device
