#pragma once

#include <cstddef>
#include <cstdint>

#include "../driver.h"

// Copies and fills of the emulated device. Ranges are checked during the call, and must be within one allocation.

namespace tape::cuda_device::emulation {

/// cuMemcpyHtoDAsync(): reads pageable memory during the call and pinned memory when its turn comes.
Result copy_to_emulated(DevicePointer to, const void* from, size_t bytes, void* stream);
/// cuMemcpyDtoHAsync(): waits if the host memory is pageable. Pinned memory has no defined values until its turn.
Result copy_from_emulated(void* to, DevicePointer from, size_t bytes, void* stream);
Result copy_within_emulated(DevicePointer to, DevicePointer from, size_t bytes, void* stream);
Result fill_emulated(DevicePointer to, unsigned char value, size_t bytes, void* stream);

/// The work of a copy or fill of a graph, which checks its ranges when it runs.
/// @{
void run_copy(DevicePointer to, DevicePointer from, size_t bytes);
void run_fill(DevicePointer to, unsigned char value, size_t bytes);
/// From a block of pinned memory, which must still exist.
void run_upload(DevicePointer to, const void* from, size_t bytes, uint64_t block);
/// @}

}  // namespace tape::cuda_device::emulation
