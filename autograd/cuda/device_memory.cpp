#include "autograd/device_memory.h"

#include "autograd/cuda/context.h"
#include "autograd/cuda/event.h"
#include "autograd/cuda/memory.h"
#include "autograd/cuda/stream.h"

namespace tape::device_memory {
namespace {

using cuda_device::UseDevice;

bool overlap(const void* a, const void* b, int64_t bytes) {
  const auto *first = static_cast<const char*>(a), *second = static_cast<const char*>(b);
  return first < second + bytes && second < first + bytes;
}

/// A copy to pinned memory with an event behind it.
class PinnedCopy : public CopyToHost {
 public:
  PinnedCopy(const void* from, int64_t bytes) : values_(cuda_device::allocate_pinned(bytes)) {
    try {
      cuda_device::begin_copy_to_host(values_, from, bytes);
      done_.record();
    } catch (...) {
      cuda_device::free_pinned(values_);
      throw;
    }
  }
  ~PinnedCopy() override { cuda_device::free_pinned(values_); }

  const void* wait() override {
    done_.wait();
    return values_;
  }

 private:
  cuda_device::Event done_;
  void* values_;
};

}  // namespace

void* allocate(Device device, int64_t bytes, int64_t& capacity) {
  const UseDevice use(device.index());
  return cuda_device::allocate(bytes, capacity);
}

void allocate_adjacent(Device device, int64_t bytes, std::span<void*> blocks, int64_t& capacity) {
  const UseDevice use(device.index());
  cuda_device::allocate_adjacent(bytes, blocks, capacity);
}

void free(Device, void* block, int64_t capacity) noexcept { cuda_device::free(block, capacity); }

MemoryStats stats(Device device) {
  const UseDevice use(device.index());
  return cuda_device::stats();
}

void reset_peak(Device device) {
  const UseDevice use(device.index());
  cuda_device::reset_peak();
}

void empty_cache(Device device) {
  const UseDevice use(device.index());
  cuda_device::empty_cache();
}

void set_limit(Device device, int64_t bytes) {
  const UseDevice use(device.index());
  cuda_device::set_limit(bytes);
}

void synchronize(Device device) {
  const UseDevice use(device.index());
  cuda_device::synchronize();
}

bool is_blocking(Device device) {
  const UseDevice use(device.index());
  return cuda_device::context().blocking;
}

void* allocate_pinned(Device device, int64_t bytes) {
  const UseDevice use(device.index());
  return cuda_device::allocate_pinned(bytes);
}
void free_pinned(void* block) noexcept { cuda_device::free_pinned(block); }

void to_device(Device device, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  const UseDevice use(device.index());
  cuda_device::copy_to_device(to, from, bytes);
}

void to_host(Device device, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  const UseDevice use(device.index());
  cuda_device::copy_to_host(to, from, bytes);
}

std::unique_ptr<CopyToHost> begin_to_host(Device device, const void* from, int64_t bytes) {
  const UseDevice use(device.index());
  return std::make_unique<PinnedCopy>(from, bytes);
}

void within(Device target, void* to, Device from_device, const void* from, int64_t bytes) {
  if (bytes == 0 || to == from) return;
  if (target == from_device && !overlap(to, from, bytes)) {
    const UseDevice use(target.index());
    cuda_device::copy_on_device(to, from, bytes);
    return;
  }
  const Ref<Storage> between = Storage::allocate(bytes);
  to_host(from_device, between->data(), from, bytes);
  to_device(target, to, between->data(), bytes);
}

void clear(Device device, void* to, int64_t bytes) {
  if (bytes == 0) return;
  const UseDevice use(device.index());
  cuda_device::fill_bytes(to, 0, bytes);
}

}  // namespace tape::device_memory
