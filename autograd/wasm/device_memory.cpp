#include "autograd/device_memory.h"

#include "autograd/cuda/context.h"
#include "autograd/cuda/stream.h"
#include "autograd/device_checks.h"
#include "autograd/device_times.h"
#include "autograd/devices.h"
#include "base/error.h"

namespace tape::device_memory {
namespace {

[[noreturn]] void refuse(Device device) {
  raise(ErrorKind::device, "{}: there are no GPUs in WebAssembly", to_string(device));
}

}  // namespace

void* allocate(Device device, int64_t, int64_t&) { refuse(device); }
void allocate_adjacent(Device device, int64_t, std::span<void*>, int64_t&) { refuse(device); }
void free(Device, void*, int64_t) noexcept {}
MemoryStats stats(Device device) { refuse(device); }
void reset_peak(Device device) { refuse(device); }
void empty_cache(Device device) { refuse(device); }
void set_limit(Device device, int64_t) { refuse(device); }
void synchronize(Device device) { refuse(device); }
bool is_blocking(Device device) { refuse(device); }
void* allocate_pinned(Device device, int64_t) { refuse(device); }
void free_pinned(void*) noexcept {}
void to_device(Device device, void*, const void*, int64_t) { refuse(device); }
void to_host(Device device, void*, const void*, int64_t) { refuse(device); }
std::unique_ptr<CopyToHost> begin_to_host(Device device, const void*, int64_t) { refuse(device); }
void within(Device device, void*, Device, const void*, int64_t) { refuse(device); }
void clear(Device device, void*, int64_t) { refuse(device); }

}  // namespace tape::device_memory

namespace tape {
Devices devices() { return {.gpus = {}, .driver = 0, .missing = "there are no GPUs in WebAssembly"}; }
std::string describe(Device device) {
  if (device.is_cpu()) return to_string(device);
  device_memory::refuse(device);
}
}  // namespace tape

namespace tape::device_checks {
Place begin(const ValueCheck&) { device_memory::refuse(cuda); }
void end() {}
void passed(int64_t) {}
const kernels::Finding* findings() { device_memory::refuse(cuda); }
}  // namespace tape::device_checks

namespace tape::device_times {
std::unique_ptr<Marks> begin(Device device) { device_memory::refuse(device); }
std::vector<Device> devices_in_use() { return {}; }
}  // namespace tape::device_times

namespace tape::cuda_device {
LaunchingOperation::LaunchingOperation(const char*) : before_(nullptr) {}
LaunchingOperation::~LaunchingOperation() = default;
UseDevice::UseDevice(int) : before_(0) {}
UseDevice::~UseDevice() = default;
}  // namespace tape::cuda_device
