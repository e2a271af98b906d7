#include "autograd/cuda/emulation/copies.h"

#include <cstring>
#include <utility>
#include <vector>

#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/pinned_memory.h"
#include "autograd/cuda/emulation/streams.h"
#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr int kUndefined = 0xFF;
/// More bytes of pageable memory are read when the copy runs, as by drivers for GPUs that can read it.
constexpr size_t kTaken = 64 << 10;
constexpr const char* kCopyWithin = "copy on the device";
constexpr const char* kFill = "fill on the device";
constexpr const char* kUpload = "copy to the device";

char* at(DevicePointer address) { return reinterpret_cast<char*>(address); }

/// Refuses a copy or fill that is not within one allocation, or with host memory that is device memory.
void check_range(const char* what, DevicePointer address, size_t bytes, const Allocations& allocated) {
  if (allocated.contains(at(address), bytes)) return;
  raise(
      ErrorKind::device, "emulated device: {} of {} bytes: {}", what, bytes,
      device_memory()->contains(at(address)) ? "ends beyond " + allocated.describe(at(address)) : "not device memory");
}

void check_range(const char* what, DevicePointer address, size_t bytes) {
  check_range(what, address, bytes, work_queue().requested());
}

void check_host(const char* what, const void* host) {
  if (device_memory()->contains(host))
    raise(ErrorKind::device, "emulated device: {}: the host address is device memory", what);
}

/// Throws if pinned memory was freed since the copy was asked for.
void check_pinned(const char* what, uint64_t block, const void* host, size_t bytes) {
  if (pinned_memory().block_of(host, bytes) != block)
    raise(ErrorKind::device, "emulated device: {} of {} bytes: its pinned memory was freed before the copy had run",
          what, bytes);
}

void write(DevicePointer to, const void* from, size_t bytes) {
  std::memcpy(at(to), from, bytes);
  device_memory()->region().set_written(at(to), bytes);
}

}  // namespace

Result copy_to_emulated(DevicePointer to, const void* from, size_t bytes, void* stream) {
  const auto lock = work_queue().lock();
  if (const Result refused = refuse_captured(stream)) return refused;
  check_range(kUpload, to, bytes);
  check_host(kUpload, from);
  if (const uint64_t block = pinned_memory().block_of(from, bytes)) {
    work_queue().submit([=] { run_upload(to, from, bytes, block); });
  } else if (bytes > kTaken) {
    work_queue().submit([=] { write(to, from, bytes); });
  } else {
    const char* const first = static_cast<const char*>(from);
    work_queue().submit(
        [to, values = std::vector<char>(first, first + bytes)] { write(to, values.data(), values.size()); });
  }
  return result::success;
}

Result copy_from_emulated(void* to, DevicePointer from, size_t bytes, void* stream) {
  constexpr const char* kWhat = "copy to the host";
  const auto lock = work_queue().lock();
  if (const Result refused = refuse_captured(stream)) return refused;
  check_range(kWhat, from, bytes);
  check_host(kWhat, to);
  const uint64_t block = pinned_memory().block_of(to, bytes);
  if (block) std::memset(to, kUndefined, bytes);
  work_queue().submit([=] {
    if (block) check_pinned(kWhat, block, to, bytes);
    std::memcpy(to, at(from), bytes);
  });
  if (!block) work_queue().run();
  return result::success;
}

Result copy_within_emulated(DevicePointer to, DevicePointer from, size_t bytes, void* stream) {
  const auto lock = work_queue().lock();
  check_range(kCopyWithin, to, bytes);
  check_range(kCopyWithin, from, bytes);
  return submit_to(stream, {NodeWork::Kind::copy, 0, bytes, shared_work([=] { run_copy(to, from, bytes); })});
}

Result fill_emulated(DevicePointer to, unsigned char value, size_t bytes, void* stream) {
  const auto lock = work_queue().lock();
  check_range(kFill, to, bytes);
  return submit_to(stream, {NodeWork::Kind::fill, 0, bytes, shared_work([=] { run_fill(to, value, bytes); })});
}

void run_copy(DevicePointer to, DevicePointer from, size_t bytes) {
  DeviceMemory& memory = *device_memory();
  check_range(kCopyWithin, to, bytes, memory.allocated());
  check_range(kCopyWithin, from, bytes, memory.allocated());
  std::memcpy(at(to), at(from), bytes);
  memory.region().copy_written(at(to), memory.region(), at(from), bytes);
}

void run_upload(DevicePointer to, const void* from, size_t bytes, uint64_t block) {
  check_range(kUpload, to, bytes, device_memory()->allocated());
  check_pinned(kUpload, block, from, bytes);
  write(to, from, bytes);
}

void run_fill(DevicePointer to, unsigned char value, size_t bytes) {
  DeviceMemory& memory = *device_memory();
  check_range(kFill, to, bytes, memory.allocated());
  std::memset(at(to), value, bytes);
  memory.region().set_written(at(to), bytes);
}

}  // namespace tape::cuda_device::emulation
