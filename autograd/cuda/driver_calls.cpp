#include "autograd/cuda/driver_calls.h"

#include <fmt/format.h>

#include "autograd/cuda/memory_pool.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

std::string launch_text(const char* name) {
  const char* const operation = LaunchingOperation::current();
  return operation ? fmt::format("kernel {} of operation {}", name, operation) : fmt::format("kernel {}", name);
}

void check_launch(const Context& c, const char* name, Grid blocks, Grid threads, int64_t shared, Result launched) {
  if (launched == result::success) return;
  if (is_kernel_failure(launched) || launched == result::out_of_memory) check(launched, name);
  raise(
      ErrorKind::device,
      "cuda: {} could not be launched with {} x {} x {} blocks of {} x {} x {} threads and {} bytes of shared memory: "
      "{}",
      launch_text(name), blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z, shared,
      error_text(*c.driver, launched));
}

}  // namespace

void wait_for_kernel(const Context& c, const char* name) {
  const Result ended = c.driver->stream_synchronize(c.stream);
  if (ended == result::success) return;
  if (!is_kernel_failure(ended)) check(ended, name);
  raise(ErrorKind::device, "cuda: {} failed: {}. The device cannot be used any more in this process", launch_text(name),
        error_text(*c.driver, ended));
}

void permit_shared_memory(const Context& c, const char* name, void* function, Grid blocks, Grid threads,
                          int64_t shared_bytes) {
  // Without it, a kernel's static and dynamic memory may be 48 KiB together, and the static part is not known here.
  if (shared_bytes <= 0) return;
  const Result permitted = c.shared_limits->raise(*c.driver, function, shared_bytes);
  check_launch(c, name, blocks, threads, shared_bytes, permitted);
}

Result SharedMemoryLimits::raise(const Driver& driver, void* function, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  int64_t& limit = limits_[function];
  if (bytes <= limit) return result::success;
  const Result raised = driver.func_set_attribute(function, attribute::dynamic_shared_memory, static_cast<int>(bytes));
  if (raised == result::success) limit = bytes;
  return raised;
}

void launch_now(const Context& c, const char* name, void* function, Grid blocks, Grid threads, int64_t shared_bytes,
                void** arguments) {
  const auto launch = [&] {
    return c.driver->launch_kernel(function, blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z,
                                   static_cast<unsigned>(shared_bytes), c.stream, arguments, nullptr);
  };
  Result launched = launch();
  // A driver loads a kernel when it is first launched. Work that is collected is launched with its list locked.
  if (launched == result::out_of_memory && !c.collector) {
    c.memory->trim();
    launched = launch();
  }
  check_launch(c, name, blocks, threads, shared_bytes, launched);
  if (c.blocking) wait_for_kernel(c, name);
}

void copy_now(const Context& c, DevicePointer to, DevicePointer from, size_t bytes) {
  check(c.driver->memcpy_on_device(to, from, bytes, c.stream), "copy on the device");
}

void fill_now(const Context& c, DevicePointer to, uint8_t value, size_t bytes) {
  check(c.driver->memset_bytes(to, value, bytes, c.stream), "fill on the device");
}

}  // namespace tape::cuda_device
