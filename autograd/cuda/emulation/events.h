#pragma once

#include "../driver.h"

// cuEvent… on the emulated device.

namespace tape::cuda_device::emulation {

Result create_event(void** event, unsigned flags);
/// The event happens when everything that was asked for before has run.
Result record_event(void* event, void* stream);
/// Runs work up to the event, and none after it.
Result wait_for_event(void* event);
/// Not ready while work before the event has not run; each call runs one, so that a host that polls comes to an end.
Result query_event(void* event);
/// A pretended time, the same in each run: a microsecond for each kernel, copy, fill and graph, and for each product
/// what its algorithm takes.
Result time_between_events(float* milliseconds, void* start, void* end);
Result destroy_event(void* event);

}  // namespace tape::cuda_device::emulation
