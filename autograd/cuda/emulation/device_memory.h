#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../../../base/non_copyable.h"
#include "shadow.h"

namespace tape::cuda_device::emulation {

/// Allocations by address.
class Allocations {
 public:
  /// Adds an allocation, or removes it if `bytes` is 0.
  void set(char* address, size_t bytes);
  /// Whether all bytes of a range belong to one allocation.
  bool contains(const void* address, size_t bytes) const;
  /// "byte 400 of an allocation of 400 bytes".
  std::string describe(const void* address) const;

 private:
  std::map<char*, size_t> bytes_;  // as requested
};

/// The memory of the emulated device: a range of addresses that the host cannot access, except within an Access.
class DeviceMemory : NonCopyable {
 public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();

  char* begin() const { return begin_; }
  size_t reserved_bytes() const { return reserved_; }
  size_t total_bytes() const { return total_; }
  size_t used_bytes() const { return used_; }
  bool contains(const void* address) const { return region_->contains(address); }
  Region& region() { return *region_; }

  /// Takes physical memory, or returns false if less is left.
  bool create(size_t bytes);
  void release(size_t bytes) { used_ -= bytes; }
  /// An allocation of its own, in pages of `page` bytes, or null if too little is left.
  char* allocate(size_t bytes, size_t page);
  void free(char* address);
  void map(char* address, size_t bytes);
  void unmap(char* address, size_t bytes);
  /// Changes allocated(), and what kernels can access. Fresh memory is unwritten.
  void set_allocated(char* address, size_t bytes, size_t capacity);
  /// The allocations at the time of the work that runs.
  const Allocations& allocated() const { return allocated_; }

  /// Lets the host access the memory while in scope. One thread can at a time.
  class Access : NonCopyable {
   public:
    explicit Access(DeviceMemory& memory);
    ~Access();

   private:
    DeviceMemory& memory_;
    std::lock_guard<std::recursive_mutex> lock_;
  };

 private:
  void protect(int access);

  size_t total_, reserved_, mapped_, used_ = 0;
  void* range_ = nullptr;  // what the system mapped
  char* begin_ = nullptr;  // the part of it that the device uses
  size_t top_ = 0;         // end of the highest mapped page
  int accesses_ = 0;
  std::recursive_mutex mutex_;
  Allocations allocated_;
  std::map<size_t, size_t> blocks_;  // bytes by offset, of allocate()
  std::unique_ptr<Region> region_;
};

/// The memory of the device that exists, or null.
DeviceMemory* device_memory();
void set_device_memory(DeviceMemory* memory);

}  // namespace tape::cuda_device::emulation
