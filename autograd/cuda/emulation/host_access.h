#pragma once

namespace tape::cuda_device::emulation {

/// While on, an access of the host to device memory, or a kernel's stack overflow, ends the program with a message and
/// not only with a segmentation fault.
void report_host_accesses(bool on);

}  // namespace tape::cuda_device::emulation
