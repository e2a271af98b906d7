#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../base/device.h"
#include "../base/non_copyable.h"

// When a GPU reaches points of its work; implemented in autograd/cuda, and for WebAssembly, which has no GPU, in
// autograd/wasm.
namespace tape::device_times {

/// Marks in the work of a GPU, which notes the time when it reaches one.
class Marks : NonCopyable {
 public:
  virtual ~Marks() = default;
  /// Adds a mark behind the work so far, without waiting. Work that is being collected for graphs is launched.
  virtual void add() = 0;
  /// Removes the oldest `count` intervals between two marks, of which there must be as many, and returns their seconds.
  /// Waits until the GPU has reached the end of the last one, but not for later work. Throws Error (device) if a kernel
  /// before it failed.
  virtual std::vector<double> take(size_t count) = 0;
};
/// Begins with a mark. Throws Error (device) if there is no such GPU.
std::unique_ptr<Marks> begin(Device device);

/// The GPUs that this process has used so far.
std::vector<Device> devices_in_use();

}  // namespace tape::device_times
