#include "autograd/devices.h"

#include <fmt/format.h>

#include "autograd/cuda/blas.h"
#include "autograd/cuda/context.h"

namespace tape {
namespace {

DeviceInfo info_of(int index) {
  const cuda_device::UseDevice use(index);
  const cuda_device::Context& c = cuda_device::context();
  return {cuda(index), c.name, c.capability, c.multiprocessors, c.total_memory};
}

}  // namespace

Devices devices() {
  Devices found;
  found.missing = cuda_device::unavailable().value_or("");
  found.driver = cuda_device::driver_version();
  for (int index = 0; index < cuda_device::device_count(); ++index)
    if (cuda_device::unsuitable_device(index).empty()) found.gpus.push_back(info_of(index));
  return found;
}

CublasLt cublaslt() { return {cuda_device::blas_version(), cuda_device::blas_unavailable().value_or("")}; }

std::string describe(Device device) {
  if (device.is_cpu()) return to_string(device);
  return fmt::format("{} ({})", to_string(device), info_of(device.index()).name);
}

}  // namespace tape
