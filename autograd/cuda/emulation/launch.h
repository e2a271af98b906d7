#pragma once

#include "../driver.h"

namespace tape::cuda_device::emulation {

constexpr int kMostSharedBytes = 227 << 10;  // dynamic shared memory of a block, as on sm_90

/// cuLaunchKernel() on the emulated device: runs all blocks. Throws Error (device) with the first fault.
Result launch_emulated(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                       void** extra);

/// Finds a registered kernel by name.
Result find_emulated_kernel(void** function, const char* name);

}  // namespace tape::cuda_device::emulation
