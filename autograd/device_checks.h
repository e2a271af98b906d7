#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "../base/device.h"
#include "../base/error.h"
#include "kernels/runtime/common/finding.h"

namespace tape {

/// A condition that the values of a tensor must meet, checked by a kernel.
struct ValueCheck {
  ErrorKind kind;
  /// The Error's message for the position (row-major) and the value of the first element at fault.
  std::function<std::string(int64_t position, int64_t value)> message;
};

/// Whether the host must wait to read values on this device. Operations then avoid it, at the cost of work that the
/// values would show to be unnecessary.
constexpr bool reading_waits(Device device) { return !device.is_cpu(); }

// Checks on a GPU, which the host does not wait for: the next call that waits for the device throws what the first
// failed check says, or the operation itself with TAPE_CUDA_BLOCKING=1. Until then optimizers update nothing.
// Implemented in autograd/cuda, and for WebAssembly in autograd/wasm.
namespace device_checks {

/// Where the kernel of a check on this thread's current device writes what it finds, and the number it writes.
struct Place {
  kernels::Finding* finding;
  int64_t number;
};
Place begin(const ValueCheck& check);
/// Called by the same thread after that kernel was launched.
void end();
/// Forgets that check and those launched before it, of which the host has read that none has failed.
void passed(int64_t number);
/// What checks have found so far, for kernels that must have no effect after a failed check.
const kernels::Finding* findings();

}  // namespace device_checks
}  // namespace tape
