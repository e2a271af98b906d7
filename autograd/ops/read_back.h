#pragma once

namespace tape {

/// Reads a value back to the host that a kernel writes: write(to) calls the kernel, which writes to *to. An operation
/// whose course depends on values calls this; on a device the host would wait here until the kernel has run.
template <class T, class Write>
T read_back(const Write& write) {
  T value = {};
  write(&value);
  return value;
}

}  // namespace tape
