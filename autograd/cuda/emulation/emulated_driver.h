#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "../driver.h"
#include "fault.h"
#include "work_queue.h"

namespace tape::cuda_device::emulation {

/// The driver's functions on the emulated device.
const Driver& emulated_driver();

/// What the driver of the device that exists counts and follows.
struct DriverState {
  int schedule = 0;
  int64_t launches = 0;
  int64_t products = 0;  // of cublasLtMatmul
  int64_t graph_launches = 0;
  std::optional<Fault> fault;
  std::unique_ptr<WorkQueue> queue;
};
DriverState& driver_state();
/// The queue of the device that exists.
inline WorkQueue& work_queue() { return *driver_state().queue; }

/// Does work that accesses device memory, in the order of the calls.
void enqueue(const std::function<void()>& work);

}  // namespace tape::cuda_device::emulation
