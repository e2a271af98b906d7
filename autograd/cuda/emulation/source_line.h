#pragma once

#include <cstddef>
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
/// A variable of a program or library.
struct Variable {
  std::string name;  ///< "" if unknown
  char* begin = nullptr;
  size_t bytes = 0;
};
/// The variable that an address belongs to. Only variables of modules that are not stripped are known.
Variable find_variable(const void* address);
/// Whether the variables of the module with this function are known: not if it is stripped.
bool has_variables(const void* code);

/// "softmax.cu:14", with the name of the file only, or "an unknown line".
std::string to_string(const SourceLine& place);

}  // namespace tape::cuda_device::emulation
