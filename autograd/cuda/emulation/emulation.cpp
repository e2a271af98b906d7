#include "autograd/cuda/emulation/emulation.h"

#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/emulated_blas.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/host_access.h"
#include "base/error.h"

namespace tape::cuda_device::emulation {

EmulatedDevice::EmulatedDevice(const EmulatedDeviceOptions& options) {
  if (device_memory()) raise(ErrorKind::device, "emulated device: there is one already");
  if (!running_blocks) running_blocks = new BlockRunner;
  set_device_memory(new DeviceMemory(static_cast<size_t>(options.memory)));
  driver_state() = {};
  driver_state().queue = std::make_unique<WorkQueue>(*device_memory(), options.execution == Execution::deferred);
  report_host_accesses(true);
  install(&emulated_driver());
  if (options.blas) install_blas(&emulated_blas());
}

EmulatedDevice::~EmulatedDevice() {
  install(nullptr);
  install_blas(nullptr);
  report_host_accesses(false);
  DeviceMemory* const memory = device_memory();
  driver_state().queue.reset();
  set_device_memory(nullptr);
  delete memory;
}

void EmulatedDevice::set_schedule(int schedule) {
  if (schedule < 0 || schedule > 2) raise(ErrorKind::config, "emulated device: schedule {} is not 0, 1 or 2", schedule);
  driver_state().schedule = schedule;
}

const std::optional<Fault>& EmulatedDevice::last_fault() const { return driver_state().fault; }

int64_t EmulatedDevice::launches() const { return driver_state().launches; }

int64_t EmulatedDevice::products() const { return driver_state().products; }

}  // namespace tape::cuda_device::emulation
