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

uint64_t DeviceMemory::create(size_t bytes) {
  if (bytes > total_ - used_) return 0;
  used_ += bytes;
  physical_[++last_handle_] = {bytes};
  return last_handle_;
}

bool DeviceMemory::release(uint64_t handle) {
  const auto memory = physical_.find(handle);
  if (memory == physical_.end() || memory->second.released) return false;
  memory->second.released = true;
  end_if_unused(memory);
  return true;
}

void DeviceMemory::end_if_unused(std::map<uint64_t, Physical>::iterator memory) {
  if (!memory->second.released || memory->second.mappings > 0) return;
  used_ -= memory->second.bytes;
  physical_.erase(memory);
}

bool DeviceMemory::map(char* address, size_t bytes, uint64_t handle) {
  const auto memory = physical_.find(handle);
  if (memory == physical_.end() || memory->second.released || memory->second.bytes != bytes) return false;
  if (address < begin_ || bytes > reserved_ || address > begin_ + (reserved_ - bytes)) return false;
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && address + bytes > next->first) return false;
  if (next != mappings_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address) return false;
  mappings_[address] = {bytes, handle};
  ++memory->second.mappings;
  top_ = std::max(top_, static_cast<size_t>(address - begin_) + bytes);
  return true;
}

bool DeviceMemory::permit(char* address, size_t bytes) {
  const auto mapping = mappings_.find(address);
  if (mapping == mappings_.end() || mapping->second.bytes != bytes) return false;
  mapping->second.accessible = true;
  return true;
}

bool DeviceMemory::unmap(char* address, size_t bytes) {
  const auto mapping = mappings_.find(address);
  if (mapping == mappings_.end() || mapping->second.bytes != bytes) return false;
  madvise(address, bytes, MADV_DONTNEED);
  const auto memory = physical_.find(mapping->second.handle);
  --memory->second.mappings;
  end_if_unused(memory);
  mappings_.erase(mapping);
  return true;
}

bool DeviceMemory::is_accessible(const char* address, size_t bytes) const {
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return false;
  const char* const end = address + bytes;
  const char* covered = (--mapping)->first;
  for (; mapping != mappings_.end() && mapping->first == covered && mapping->second.accessible; ++mapping) {
    covered += mapping->second.bytes;
    if (covered >= end) return true;
  }
  return false;
}

char* DeviceMemory::allocate(size_t bytes, size_t page) {
  const size_t pages = (bytes / page + 1) * page;  // with unused bytes after the allocation
  char* address = begin_;
  for (const auto& [begin, mapping] : mappings_) {
    if (static_cast<size_t>(begin - address) >= pages) break;
    address = const_cast<char*>(begin) + mapping.bytes;
  }
  if (reserved_ - static_cast<size_t>(address - begin_) < pages) return nullptr;
  const uint64_t handle = create(pages);
  if (!handle) return nullptr;
  map(address, pages, handle);
  permit(address, pages);
  blocks_[address] = handle;
  return address;
}

bool DeviceMemory::free(char* address) {
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) return false;
  unmap(address, mappings_.at(address).bytes);
  release(block->second);
  blocks_.erase(block);
  return true;
}

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
