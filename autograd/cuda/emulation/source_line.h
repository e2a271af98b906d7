#pragma once

#include <string>

namespace tape::cuda_device::emulation {

/// A place in the source of a kernel.
struct SourceLine {
  std::string file;  ///< "" if unknown
  int line = 0;

  bool operator==(const SourceLine&) const = default;
};

/// Where the call that returns to an address is in the source of a kernel, and not in a header of the emulated device.
SourceLine source_line(void* return_address);
/// "softmax.cu:14", with the name of the file only, or "an unknown line".
std::string to_string(const SourceLine& place);

}  // namespace tape::cuda_device::emulation
