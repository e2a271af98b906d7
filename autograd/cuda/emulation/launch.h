#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "../driver.h"
#include "block.h"

namespace tape::cuda_device::emulation {

constexpr int kMostSharedBytes = 163 << 10;  // dynamic shared memory of a block, as on sm_80

/// A launch with copies of its arguments, in the name of the operation in scope.
class StoredLaunch {
 public:
  /// Throws Error (device) if an argument points to host memory.
  StoredLaunch(const RegisteredKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, void** arguments);

  /// Whether the sizes are within the limits of a device.
  bool is_valid() const;
  /// Runs all blocks. Throws Error (device) with the first fault.
  void run() const;
  const RegisteredKernel& kernel() const { return *kernel_; }

 private:
  size_t most_shared_bytes() const;

  const RegisteredKernel* kernel_;
  dim3 grid_, block_;
  size_t shared_bytes_;
  int schedule_;
  std::string operation_;
  std::vector<std::byte> arguments_;  // each at a multiple of the strictest alignment
};

/// cuLaunchKernel() on the emulated device. The kernel runs when the host waits.
Result launch_emulated(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                       void** extra);

/// All kernels that were compiled for the emulated device.
std::vector<const RegisteredKernel*> emulated_kernels();
/// Finds one by name.
Result find_emulated_kernel(void** function, const char* name);

}  // namespace tape::cuda_device::emulation
