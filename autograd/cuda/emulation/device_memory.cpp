#include "autograd/cuda/emulation/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

DeviceMemory* existing_memory = nullptr;

constexpr size_t kHugePage = 2 << 20;
constexpr int kUnwritten = 0xFF;  // NaN in each floating-point type

}  // namespace

DeviceMemory* device_memory() { return existing_memory; }
void set_device_memory(DeviceMemory* memory) {
  existing_memory = memory;
  shadow().set_device_memory(memory ? &memory->region() : nullptr);
}

void Allocations::set(char* address, size_t bytes) {
  if (bytes == 0)
    bytes_.erase(address);
  else
    bytes_[address] = bytes;
}

bool Allocations::contains(const void* address, size_t bytes) const {
  const char* const first = static_cast<const char*>(address);
  const auto after = bytes_.upper_bound(const_cast<char*>(first));
  if (after == bytes_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return first + bytes <= begin + size;
}

std::string Allocations::describe(const void* address) const {
  const auto after = bytes_.upper_bound(static_cast<char*>(const_cast<void*>(address)));
  if (after == bytes_.begin()) return fmt::format("{}, before every allocation", address);
  const auto& [begin, size] = *std::prev(after);
  const auto offset = static_cast<const char*>(address) - begin;
  return fmt::format("byte {} of an allocation of {} bytes", offset, size);
}

DeviceMemory::DeviceMemory(size_t bytes) : total_(bytes), reserved_(2 * bytes), mapped_(reserved_ + kHugePage) {
  range_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range_ == MAP_FAILED)
    raise(ErrorKind::out_of_memory, "emulated device: the system refused {} bytes of addresses", mapped_);
  const auto first = reinterpret_cast<uintptr_t>(range_);
  begin_ = reinterpret_cast<char*>((first + kHugePage - 1) / kHugePage * kHugePage);
  // Changing the protection of all pages takes a hundredth of the time if they are huge.
  madvise(begin_, reserved_, MADV_HUGEPAGE);
  region_ = std::make_unique<Region>(begin_, reserved_, false);
}

DeviceMemory::~DeviceMemory() { munmap(range_, mapped_); }

bool DeviceMemory::create(size_t bytes) {
  if (bytes > total_ - used_) return false;
  used_ += bytes;
  return true;
}

char* DeviceMemory::allocate(size_t bytes, size_t page) {
  const size_t pages = (bytes / page + 1) * page;  // with unused bytes after the allocation
  size_t offset = 0;
  for (const auto& [begin, size] : blocks_) {
    if (begin - offset >= pages) break;
    offset = begin + size;
  }
  if (reserved_ - offset < pages || !create(pages)) return nullptr;
  blocks_[offset] = pages;
  map(begin_ + offset, pages);
  return begin_ + offset;
}

void DeviceMemory::free(char* address) {
  const auto block = blocks_.find(static_cast<size_t>(address - begin_));
  unmap(address, block->second);
  release(block->second);
  blocks_.erase(block);
}

void DeviceMemory::map(char* address, size_t bytes) {
  top_ = std::max(top_, static_cast<size_t>(address - begin_) + bytes);
}

void DeviceMemory::unmap(char* address, size_t bytes) { madvise(address, bytes, MADV_DONTNEED); }

void DeviceMemory::set_allocated(char* address, size_t bytes, size_t capacity) {
  const Access access(*this);
  region_->set_exists(address, capacity, false);
  allocated_.set(address, bytes);
  if (bytes == 0) return;
  region_->set_exists(address, bytes, true);
  std::memset(address, kUnwritten, bytes);
}

void DeviceMemory::protect(int access) {
  if (top_) mprotect(begin_, top_, access);
}

DeviceMemory::Access::Access(DeviceMemory& memory) : memory_(memory), lock_(memory.mutex_) {
  if (memory_.accesses_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
}
DeviceMemory::Access::~Access() {
  if (--memory_.accesses_ == 0) memory_.protect(PROT_NONE);
}

}  // namespace tape::cuda_device::emulation
