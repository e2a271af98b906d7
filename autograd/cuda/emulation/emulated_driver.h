#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../driver.h"
#include "emulated_blas.h"
#include "fault.h"
#include "graph_nodes.h"
#include "work_queue.h"

namespace tape::cuda_device::emulation {

/// The driver's functions on the emulated device.
const Driver& emulated_driver();

/// A stream, and what was captured of it.
struct EmulatedStream {
  bool waits_for_legacy = false;    // the work of the stream without a handle
  std::unique_ptr<Graph> captured;  // null unless it is being captured
  std::thread::id thread;           // that captures it
  int mode = 0;                     // of the capture
  bool valid = true;                // whether the capture is
};

/// What the driver of the device that exists counts and follows.
struct DriverState {
  int schedule = 0;
  int64_t launches = 0;
  int64_t products = 0;  // of cublasLtMatmul
  int64_t graph_launches = 0;
  std::vector<EmulatedAlgorithm> algorithms = {{.microseconds = 1}, {2, 2}, {3, 3}};
  std::optional<Fault> fault;
  std::unique_ptr<WorkQueue> queue;
  std::vector<std::unique_ptr<EmulatedStream>> streams;
  std::unordered_map<const void*, size_t> shared_limits;  // of functions, where they were set
};
DriverState& driver_state();
/// The queue of the device that exists.
inline WorkQueue& work_queue() { return *driver_state().queue; }

}  // namespace tape::cuda_device::emulation
