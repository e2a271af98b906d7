#pragma once

namespace tape {

/// The value that a kernel writes, by write(to), brought to the host: what an operation decides on the way by values,
/// it gets here, and where kernels run beside the host it waits for them.
template <class T, class Write>
T read_back(const Write& write) {
  T value = {};
  write(&value);
  return value;
}

}  // namespace tape
