#include "autograd/cuda/emulation/emulated_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/launch.h"
#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr size_t kPageBytes = 64 << 10;
constexpr int kEmulatedVersion = 13000;

char* at(DevicePointer address) { return reinterpret_cast<char*>(address); }

/// Refuses a copy or fill that is not within one allocation, or with host memory that is device memory.
void check_range(const char* what, DevicePointer address, size_t bytes) {
  const DeviceMemory& memory = *device_memory();
  if (memory.is_allocated(at(address), bytes)) return;
  raise(ErrorKind::device, "emulated device: {} of {} bytes: {}", what, bytes,
        memory.contains(at(address)) ? "ends beyond " + memory.describe(at(address)) : "not device memory");
}

void check_host(const char* what, const void* host) {
  if (device_memory()->contains(host))
    raise(ErrorKind::device, "emulated device: {}: the host address is device memory", what);
}

Result error_name(Result result, const char** name) {
  *name = result == result::success         ? "CUDA_SUCCESS"
          : result == result::invalid_value ? "CUDA_ERROR_INVALID_VALUE"
          : result == result::out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == result::not_found     ? "CUDA_ERROR_NOT_FOUND"
                                            : "CUDA_ERROR_UNKNOWN";
  return result::success;
}

Result error_string(Result result, const char** text) {
  *text = result == result::success         ? "no error"
          : result == result::invalid_value ? "invalid argument"
          : result == result::out_of_memory ? "out of memory"
          : result == result::not_found     ? "named symbol not found"
                                            : "unknown error";
  return result::success;
}

Result device_attribute(int* value, int name, int) {
  switch (name) {
    case attribute::multiprocessors:
      *value = 4;
      return result::success;
    case attribute::capability_major:
      *value = 8;
      return result::success;
    case attribute::capability_minor:
      *value = 0;
      return result::success;
    case attribute::shared_memory_optin:
      *value = kMostSharedBytes;
      return result::success;
    case attribute::virtual_memory:
      *value = 1;
      return result::success;
    default:
      return result::invalid_value;
  }
}

Result copy_in(DevicePointer to, const void* from, size_t bytes, void*) {
  const DeviceMemory::Access access(*device_memory());
  check_range("copy to the device", to, bytes);
  check_host("copy to the device", from);
  std::memcpy(at(to), from, bytes);
  device_memory()->region().set_written(at(to), bytes);
  return result::success;
}

Result copy_out(void* to, DevicePointer from, size_t bytes, void*) {
  const DeviceMemory::Access access(*device_memory());
  check_range("copy to the host", from, bytes);
  check_host("copy to the host", to);
  std::memcpy(to, at(from), bytes);
  return result::success;
}

Result copy_within(DevicePointer to, DevicePointer from, size_t bytes, void*) {
  const DeviceMemory::Access access(*device_memory());
  check_range("copy on the device", to, bytes);
  check_range("copy on the device", from, bytes);
  std::memcpy(at(to), at(from), bytes);
  Region& region = device_memory()->region();
  region.copy_written(at(to), region, at(from), bytes);
  return result::success;
}

Result fill(DevicePointer to, unsigned char value, size_t bytes, void*) {
  const DeviceMemory::Access access(*device_memory());
  check_range("fill on the device", to, bytes);
  std::memset(at(to), value, bytes);
  device_memory()->region().set_written(at(to), bytes);
  return result::success;
}

Result parameter_info(void* function, size_t index, size_t* offset, size_t* bytes) {
  const Parameters& parameters = static_cast<const RegisteredKernel*>(function)->parameters;
  if (index >= parameters.count) return result::invalid_value;
  *offset = 0;
  *bytes = parameters.first[index].bytes;
  return result::success;
}

Driver make_driver() {
  Driver d{};
  d.init = [](unsigned) { return result::success; };
  d.driver_get_version = [](int* version) { return *version = kEmulatedVersion, result::success; };
  d.get_error_name = error_name;
  d.get_error_string = error_string;
  d.device_get_count = [](int* count) { return *count = 1, result::success; };
  d.device_get = [](int* device, int index) { return *device = index, result::success; };
  d.device_get_name = [](char* name, int bytes, int) {
    std::snprintf(name, static_cast<size_t>(bytes), "emulated device");
    return result::success;
  };
  d.device_get_attribute = device_attribute;
  d.device_total_mem = [](size_t* bytes, int) { return *bytes = device_memory()->total_bytes(), result::success; };
  d.primary_ctx_retain = [](void** context, int) { return *context = nullptr, result::success; };
  d.ctx_set_current = [](void*) { return result::success; };
  d.stream_create = [](void** stream, unsigned) { return *stream = nullptr, result::success; };
  d.stream_synchronize = [](void*) { return result::success; };
  d.mem_get_info = [](size_t* free_bytes, size_t* total) {
    *total = device_memory()->total_bytes();
    *free_bytes = *total - device_memory()->used_bytes();
    return result::success;
  };
  d.mem_get_allocation_granularity = [](size_t* bytes, const AllocationProperties*, int) {
    return *bytes = kPageBytes, result::success;
  };
  d.mem_address_reserve = [](DevicePointer* address, size_t bytes, size_t, DevicePointer, unsigned long long) {
    if (bytes > device_memory()->reserved_bytes()) return result::out_of_memory;
    *address = reinterpret_cast<DevicePointer>(device_memory()->begin());
    return result::success;
  };
  d.mem_create = [](unsigned long long* handle, size_t bytes, const AllocationProperties*, unsigned long long) {
    *handle = bytes;
    return device_memory()->create(bytes) ? result::success : result::out_of_memory;
  };
  d.mem_map = [](DevicePointer address, size_t bytes, size_t, unsigned long long, unsigned long long) {
    return device_memory()->map(at(address), bytes), result::success;
  };
  d.mem_set_access = [](DevicePointer, size_t, const AccessDescription*, size_t) { return result::success; };
  d.mem_unmap = [](DevicePointer address, size_t bytes) {
    return device_memory()->unmap(at(address), bytes), result::success;
  };
  d.mem_release = [](unsigned long long handle) { return device_memory()->release(handle), result::success; };
  d.mem_host_alloc = [](void** pointer, size_t bytes, unsigned) {
    return (*pointer = std::malloc(bytes)) ? result::success : result::out_of_memory;
  };
  d.mem_free_host = [](void* pointer) { return std::free(pointer), result::success; };
  d.memcpy_to_device = copy_in;
  d.memcpy_to_host = copy_out;
  d.memcpy_on_device = copy_within;
  d.memset_bytes = fill;
  d.func_set_attribute = [](void*, int, int value) {
    return value <= kMostSharedBytes ? result::success : result::invalid_value;
  };
  d.launch_kernel = launch_emulated;
  d.func_get_param_info = parameter_info;
  d.find_function = find_emulated_kernel;
  d.set_allocated = [](DevicePointer address, size_t bytes, size_t capacity) {
    device_memory()->set_allocated(at(address), bytes, capacity);
  };
  d.guard_bytes = 256;
  return d;
}

}  // namespace

const Driver& emulated_driver() {
  static const Driver table = make_driver();
  return table;
}

void enqueue(const std::function<void()>& work) {
  const DeviceMemory::Access access(*device_memory());
  work();
}

DriverState& driver_state() {
  static auto* state = new DriverState;
  return *state;
}

}  // namespace tape::cuda_device::emulation
