#pragma once

#include <vector>

#include "../../autograd/create.h"
#include "../../autograd/tape/scope.h"

namespace tape::models {

/// Ids or indices on the CPU, whatever the default device is, for what the host reads.
inline Tensor host_ids(const std::vector<int64_t>& values, const Shape& shape) {
  const DeviceScope on_host(cpu);
  return from_vector(values, shape);
}

}  // namespace tape::models
