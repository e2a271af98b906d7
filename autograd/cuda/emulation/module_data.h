#pragma once

#include "shadow.h"

namespace tape::cuda_device::emulation {

/// The variables of the program or library that an address belongs to. Shared memory of its kernels is among them.
Region& module_data(const void* code);

/// Whether an address belongs to constants of the program or of a library.
bool is_read_only_data(const void* address);

}  // namespace tape::cuda_device::emulation
