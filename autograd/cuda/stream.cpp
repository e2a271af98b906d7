#include "autograd/cuda/stream.h"

#include <cstring>
#include <mutex>

#include "autograd/cuda/context.h"
#include "autograd/cuda/driver_calls.h"
#include "autograd/cuda/graph.h"
#include "autograd/cuda/module.h"
#include "autograd/cuda/pinned_pool.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

thread_local const char* launching_operation = nullptr;

DevicePointer device_pointer(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

/// Without this check, wrong arguments would be read as others, or past their end.
void check_arguments(const Driver& d, void* function, const char* name, const size_t* sizes, size_t count) {
  if (!d.func_get_param_info) return;
  for (size_t i = 0; i <= count; ++i) {
    size_t offset = 0, bytes = 0;
    const bool has_parameter = d.func_get_param_info(function, i, &offset, &bytes) == result::success;
    if (i < count && has_parameter && bytes != sizes[i])
      raise(ErrorKind::device, "cuda: kernel {}: argument {} has {} bytes, the kernel's parameter {}", name, i,
            sizes[i], bytes);
    if (i < count && !has_parameter)
      raise(ErrorKind::device, "cuda: kernel {}: {} arguments, the kernel has {} parameters", name, count, i);
    if (i == count && has_parameter)
      raise(ErrorKind::device, "cuda: kernel {}: {} arguments, the kernel has more parameters", name, count);
  }
}

/// Copies of up to this size from pageable memory are copies of pinned memory with its values, since a GPU that can
/// read pageable memory, as with Linux's HMM, may do so when the copy runs. Larger ones are not collected for graphs,
/// and are waited for.
constexpr int64_t kMostStaged = int64_t{1} << 20;

/// Pinned memory with these values until a copy that is to be collected has run.
PinnedSource expected_copy(const void* host, int64_t bytes) {
  if (const uint64_t block = pinned_pool().expect_copy(host)) return {host, block};
  void* const pinned = pinned_pool().allocate(bytes);
  std::memcpy(pinned, host, static_cast<size_t>(bytes));
  const uint64_t block = pinned_pool().expect_copy(pinned);
  pinned_pool().free(pinned);
  return {pinned, block};
}

constexpr const char* kUpload = "copy to the device";

void copy_staged(const Context& c, void* device, const void* host, int64_t bytes) {
  const void* const pinned = expected_copy(host, bytes).address;
  const Result copied =
      c.driver->memcpy_to_device(device_pointer(device), pinned, static_cast<size_t>(bytes), c.stream);
  if (copied == result::success)
    pinned_pool().record_expected(pinned);
  else
    pinned_pool().drop_expected(pinned);
  check(copied, kUpload);
}

std::mutex& launch_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

LaunchingOperation::LaunchingOperation(const char* name) : before_(launching_operation) { launching_operation = name; }
LaunchingOperation::~LaunchingOperation() { launching_operation = before_; }
const char* LaunchingOperation::current() { return launching_operation; }

void copy_to_device(void* device, const void* host, int64_t bytes) {
  if (bytes == 0) return;
  const Context& c = context();
  if (c.collector && bytes <= kMostStaged) {
    c.collector->add_upload(device_pointer(device), expected_copy(host, bytes), static_cast<size_t>(bytes));
    return;
  }
  flush_work(c, ListEnd::copy_to_device);
  if (bytes <= kMostStaged) return copy_staged(c, device, host, bytes);
  check(c.driver->memcpy_to_device(device_pointer(device), host, static_cast<size_t>(bytes), c.stream), kUpload);
  if (!pinned_pool().record_copy(host)) check(c.driver->stream_synchronize(c.stream), kUpload);
}

void copy_to_host(void* host, const void* device, int64_t bytes) {
  if (bytes == 0) return;
  const Context& c = context();
  flush_work(c, ListEnd::copy_to_host);
  check(c.driver->memcpy_to_host(host, device_pointer(device), static_cast<size_t>(bytes), c.stream),
        "copy to the host");
  wait("copy to the host");
}

void begin_copy_to_host(void* pinned, const void* device, int64_t bytes) {
  if (bytes == 0) return;
  const Context& c = context();
  flush_work(c, ListEnd::copy_to_host);
  check(c.driver->memcpy_to_host(pinned, device_pointer(device), static_cast<size_t>(bytes), c.stream),
        "copy to the host");
  pinned_pool().record_copy(pinned);
}

void copy_on_device(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  const Context& c = context();
  if (c.collector) {
    c.collector->add_copy(device_pointer(to), device_pointer(from), static_cast<size_t>(bytes));
  } else {
    copy_now(c, device_pointer(to), device_pointer(from), static_cast<size_t>(bytes));
  }
}

void fill_bytes(void* device, uint8_t value, int64_t bytes) {
  if (bytes == 0) return;
  const Context& c = context();
  if (c.collector) {
    c.collector->add_fill(device_pointer(device), value, static_cast<size_t>(bytes));
  } else {
    fill_now(c, device_pointer(device), value, static_cast<size_t>(bytes));
  }
}

void wait_if_blocking(const char* name) {
  const Context& c = context();
  if (c.blocking) wait_for_kernel(c, name);
}

/// Finds the function on the current device; called on the first launch there.
void* Kernel::find(const size_t* sizes, size_t count) const {
  const Context& c = context();
  const std::lock_guard lock(launch_mutex());
  if (generation_ != driver_generation()) {
    for (auto& function : functions_) function = nullptr;
    generation_ = driver_generation();
  }
  void* const function = find_function(name_);
  check_arguments(*c.driver, function, name_, sizes, count);
  functions_[static_cast<size_t>(c.index)] = function;
  return function;
}

void Kernel::launch(Grid blocks, Grid threads, int64_t shared_bytes, void** arguments, const size_t* sizes,
                    size_t count) const {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  const Context& c = context();
  void* function = generation_ == driver_generation() ? functions_[static_cast<size_t>(c.index)].load() : nullptr;
  if (!function) function = find(sizes, count);
  permit_shared_memory(c, name_, function, blocks, threads, shared_bytes);
  if (c.collector) {
    c.collector->add_kernel(name_, function, blocks, threads, static_cast<uint32_t>(shared_bytes), arguments, sizes,
                            count);
  } else {
    launch_now(c, name_, function, blocks, threads, shared_bytes, arguments);
  }
}

}  // namespace tape::cuda_device
