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

  /// Takes physical memory and returns its handle, or 0 if less is left.
  uint64_t create(size_t bytes);
  /// Gives physical memory back, which lasts as long as it is mapped. Like the functions below, returns false and does
  /// nothing for arguments that the driver refuses.
  bool release(uint64_t handle);
  /// Maps all of some physical memory at addresses that have none.
  bool map(char* address, size_t bytes, uint64_t handle);
  /// Lets kernels and copies access a whole mapping.
  bool permit(char* address, size_t bytes);
  /// Ends a whole mapping.
  bool unmap(char* address, size_t bytes);
  /// Whether all of a range is mapped and can be accessed.
  bool is_accessible(const char* address, size_t bytes) const;
  /// An allocation of its own, in pages of `page` bytes, or null if too little is left.
  char* allocate(size_t bytes, size_t page);
  /// Frees what allocate() returned.
  bool free(char* address);
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
  struct Physical {
    size_t bytes;
    int mappings = 0;
    bool released = false;
  };
  struct Mapping {
    size_t bytes;
    uint64_t handle;
    bool accessible = false;
  };

  void protect(int access);
  void end_if_unused(std::map<uint64_t, Physical>::iterator memory);

  size_t total_, reserved_, mapped_, used_ = 0;
  void* range_ = nullptr;  // what the system mapped
  char* begin_ = nullptr;  // the part of it that the device uses
  size_t top_ = 0;         // end of the highest mapped page
  int accesses_ = 0;
  std::recursive_mutex mutex_;
  Allocations allocated_;
  uint64_t last_handle_ = 0;
  std::map<uint64_t, Physical> physical_;  // by handle
  std::map<const char*, Mapping> mappings_;
  std::map<const char*, uint64_t> blocks_;  // handles of allocate()
  std::unique_ptr<Region> region_;
};

/// The memory of the device that exists, or null.
DeviceMemory* device_memory();
void set_device_memory(DeviceMemory* memory);

}  // namespace tape::cuda_device::emulation
