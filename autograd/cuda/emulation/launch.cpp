#include "autograd/cuda/emulation/launch.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/report.h"
#include "autograd/cuda/emulation/streams.h"
#include "base/error.h"
#include "base/static_list.h"

namespace tape::cuda_device::emulation {
namespace {

StaticList<RegisteredKernel> registered_kernels;

/// Space of an argument among the stored ones.
size_t stored_bytes(const Parameter& parameter) {
  constexpr size_t kAlignment = alignof(std::max_align_t);
  return (parameter.bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Throws if an argument points to host memory. Null pointers are values that a kernel may test.
void check_pointers(const RegisteredKernel& kernel, void** arguments) {
  const Parameters& parameters = kernel.parameters;
  for (size_t i = 0; i < parameters.count; ++i) {
    if (!parameters.first[i].is_pointer) continue;
    const void* pointer = nullptr;
    std::memcpy(&pointer, arguments[i], sizeof pointer);
    if (!pointer || device_memory()->contains(pointer)) continue;
    Fault fault;
    fault.kind = FaultKind::host_pointer;
    fault.kernel = kernel.name;
    fault.message = fmt::format("{}: {}: argument {} is not device memory", fault.kernel, to_string(fault.kind), i);
    driver_state().fault = fault;
    raise(ErrorKind::device, "emulated device: {}", fault.message);
  }
}

/// Number of blocks between one block and the next that runs: 1 for schedule 0, otherwise without a common divisor.
uint64_t step_of_blocks(uint64_t blocks, int schedule) {
  if (schedule == 0 || blocks < 3) return 1;
  uint64_t step = schedule == 1 ? blocks / 2 : blocks - 1;
  while (std::gcd(step, blocks) != 1) ++step;
  return step;
}

void run_blocks(const Launch& launch, int schedule) {
  const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  const uint64_t step = step_of_blocks(blocks, schedule);
  uint64_t block = schedule == 0 ? 0 : blocks / 3;
  for (uint64_t i = 0; i < blocks && !reported(); ++i) {
    uint3 index;
    index.x = static_cast<unsigned>(block % launch.grid.x);
    index.y = static_cast<unsigned>(block / launch.grid.x % launch.grid.y);
    index.z = static_cast<unsigned>(block / launch.grid.x / launch.grid.y);
    block_runner().run(launch, index, schedule);
    block = (block + step) % blocks;
  }
}

}  // namespace

RegisteredKernel::RegisteredKernel(const char* kernel_name, Parameters kernel_parameters, void (*kernel_call)(void**),
                                   void* kernel_code)
    : name(kernel_name), parameters(kernel_parameters), call(kernel_call), code(kernel_code) {
  registered_kernels.add(*this);
}
RegisteredKernel::~RegisteredKernel() { registered_kernels.remove(*this); }

StoredLaunch::StoredLaunch(const RegisteredKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, void** arguments)
    : kernel_(&kernel), grid_(grid), block_(block), shared_bytes_(shared_bytes), schedule_(driver_state().schedule) {
  check_pointers(kernel, arguments);
  if (const char* const operation = LaunchingOperation::current()) operation_ = operation;
  const Parameters& parameters = kernel.parameters;
  size_t bytes = 0;
  for (size_t i = 0; i < parameters.count; ++i) bytes += stored_bytes(parameters.first[i]);
  arguments_.resize(bytes);
  size_t offset = 0;
  for (size_t i = 0; i < parameters.count; ++i) {
    std::memcpy(arguments_.data() + offset, arguments[i], parameters.first[i].bytes);
    offset += stored_bytes(parameters.first[i]);
  }
}

size_t StoredLaunch::most_shared_bytes() const {
  constexpr size_t kUnlessSet = 48 << 10;
  const auto set = driver_state().shared_limits.find(kernel_);
  return set == driver_state().shared_limits.end() ? kUnlessSet : set->second;
}

bool StoredLaunch::is_valid() const {
  constexpr unsigned kMostBlocks = 65535, kMostLayers = 64;
  const uint64_t threads = uint64_t{block_.x} * block_.y * block_.z;
  return grid_.x && grid_.y && grid_.z && grid_.x <= INT32_MAX && grid_.y <= kMostBlocks && grid_.z <= kMostBlocks &&
         threads > 0 && threads <= kMostThreads && block_.z <= kMostLayers && shared_bytes_ <= most_shared_bytes();
}

void StoredLaunch::run() const {
  const Parameters& parameters = kernel_->parameters;
  std::vector<void*> pointers;
  size_t offset = 0;
  for (size_t i = 0; i < parameters.count; ++i) {
    pointers.push_back(const_cast<std::byte*>(arguments_.data()) + offset);
    offset += stored_bytes(parameters.first[i]);
  }
  const Launch launch{kernel_, pointers.data(), grid_, block_, shared_bytes_, operation_.c_str()};
  clear_report();
  shadow().start_launch(launch);
  run_blocks(launch, schedule_);
  if (!reported()) return;
  driver_state().fault = recorded_fault();
  raise(ErrorKind::device, "emulated device: {}", driver_state().fault->message);
}

Result launch_emulated(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                       void**) {
  const auto lock = work_queue().lock();
  StoredLaunch launch(*static_cast<const RegisteredKernel*>(function), {grid_x, grid_y, grid_z},
                      {block_x, block_y, block_z}, shared_bytes, arguments);
  if (!launch.is_valid()) return result::invalid_value;
  if (!is_capturing(stream)) ++driver_state().launches;
  return submit_to(stream, {NodeWork::Kind::kernel, reinterpret_cast<uintptr_t>(function), 0,
                            shared_work([launch = std::move(launch)] { launch.run(); })});
}

std::vector<const RegisteredKernel*> emulated_kernels() { return registered_kernels.all(); }

Result find_emulated_kernel(void** function, const char* name) {
  for (const RegisteredKernel* kernel : registered_kernels.all()) {
    if (std::strcmp(kernel->name, name) != 0) continue;
    *function = const_cast<RegisteredKernel*>(kernel);
    return result::success;
  }
  return result::not_found;
}

}  // namespace tape::cuda_device::emulation
