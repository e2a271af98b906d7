#pragma once

namespace tape {

/// Reads a value that a kernel writes back to the host: write(to) calls the kernel, which writes to *to. For operations
/// whose control flow depends on values; on a device, this is where the host would wait for the kernel.
template <class T, class Write>
T read_back(const Write& write) {
  T value = {};
  write(&value);
  return value;
}

}  // namespace tape
