#include "autograd/devices.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/cuda/blas.h"
#include "autograd/cuda/context.h"

namespace tape {
namespace {

DeviceInfo info_of(int index) {
  const cuda_device::DeviceProperties p = cuda_device::device_properties(index);
  return {cuda(index), p.name, p.capability, p.multiprocessors, p.total_memory};
}

}  // namespace

Devices devices() {
  Devices found;
  found.missing = cuda_device::unavailable().value_or("");
  found.driver = cuda_device::driver_version();
  const int count = std::min(cuda_device::device_count(), cuda_device::kMostDevices);
  for (int index = 0; index < count; ++index)
    if (cuda_device::unsuitable_device(index).empty()) found.gpus.push_back(info_of(index));
  return found;
}

CublasLt cublaslt() { return {cuda_device::blas_version(), cuda_device::blas_unavailable().value_or("")}; }

std::string describe(Device device) {
  if (device.is_cpu()) return to_string(device);
  const cuda_device::UseDevice use(device.index());
  return fmt::format("{} ({})", to_string(device), cuda_device::context().name);
}

}  // namespace tape
