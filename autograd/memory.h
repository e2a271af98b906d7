#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "../base/device.h"
#include "../base/non_copyable.h"
#include "ref.h"

namespace tape {

/// Statistics of a device's caching allocator.
struct MemoryStats {
  int64_t live_bytes = 0;          ///< in use by tensors
  int64_t peak_bytes = 0;          ///< maximum of live_bytes since reset_peak_memory()
  int64_t cached_bytes = 0;        ///< freed by tensors and cached for reuse
  int64_t requests = 0;            ///< number of storages allocated
  int64_t system_allocations = 0;  ///< number of requests that needed new memory from the system
};
/// Current statistics of the process.
MemoryStats memory_stats(Device device = cpu);
/// Sets peak_bytes to live_bytes.
void reset_peak_memory(Device device = cpu);
/// Returns the cached memory to the system, or a GPU's to the GPU.
void empty_cache(Device device = cpu);
/// Maximum of live_bytes; an allocation that would exceed it throws. Defaults to the physical memory.
void set_memory_limit(int64_t bytes, Device device = cpu);
/// Waits until a GPU has done everything that was asked of it; does nothing for the CPU. Operations on a GPU return
/// before they are computed, so that an error of one is thrown here or where a value is read. Throws Error (device).
void synchronize(Device device);

/// Data that an operation attaches to a storage and that lives as long as it does.
struct StorageAttachment : NonCopyable {
  virtual ~StorageAttachment() = default;
};

class Storage;

/// Work that was asked for and has not begun. The storages that it will write or read tell it before their values are
/// used otherwise.
class DeferredWork : NonCopyable {
 public:
  /// Begins what will write or read the storage: its values are about to be used or changed.
  virtual void begin(Storage& storage) = 0;
  /// Forgets what would write the storage, which is being freed.
  virtual void drop(const Storage& storage) noexcept = 0;
  /// Begins all work of a device, as synchronize() asks for.
  virtual void begin_all(Device device) = 0;

 protected:
  ~DeferredWork() = default;
  /// Makes synchronize() begin this work, instead of other such work.
  void follow_synchronize();
};

/// A block of 64-byte aligned memory shared by tensors, with a version counter of in-place writes.
class Storage : public RefCounted {
 public:
  /// Throws Error (out_of_memory) with the requested size if the limit or the system refuses, (device) without such a
  /// device.
  static Ref<Storage> allocate(int64_t bytes, Device device = cpu);
  /// The same, but the block is allocated when it is first used, unless deferred work allocates it.
  static Ref<Storage> allocate_late(int64_t bytes, Device device);
  /// Wraps external memory; the destructor calls release().
  static Ref<Storage> borrow(void* data, int64_t bytes, void* owner, void (*release)(void* owner));
  ~Storage();

  /// Address of the block, in the memory of device(). Begins the deferred work that writes it.
  void* data() const {
    if (DeferredWork* const work = writer_.load(std::memory_order_acquire)) [[unlikely]]
      work->begin(const_cast<Storage&>(*this));
    return data_;
  }
  Device device() const { return device_; }      ///< where the block is
  int64_t bytes() const { return bytes_; }       ///< size as requested
  uint64_t version() const { return version_; }  ///< number of in-place writes
  /// Counts an in-place write, which is about to happen. Begins the deferred work that reads the block.
  void bump_version() {
    if (DeferredWork* const work = reader_.load(std::memory_order_acquire)) [[unlikely]]
      work->begin(*this);
    ++version_;
  }
  /// Copies the version of a storage that this one replaces, so that it does not look like an in-place write.
  void set_version(uint64_t version) { version_ = version; }
  /// Deferred work that will write the block, or that reads it; null when it has begun.
  /// @{
  void set_writer(DeferredWork* work) { writer_.store(work, std::memory_order_release); }
  void set_reader(DeferredWork* work) { reader_.store(work, std::memory_order_release); }
  /// @}
  /// Whether the block is allocated late, or deferred work will write it.
  bool is_deferred() const { return writer_.load(std::memory_order_acquire); }
  /// Frees the block of a GPU, if it has one, until allocate_blocks().
  void free_block();
  /// Allocates such blocks, of one size and device, each as far from the one before, and returns their addresses in
  /// `blocks`. Throws Error (out_of_memory).
  static void allocate_blocks(std::span<Storage* const> storages, std::span<void*> blocks);
  /// The attachment, or null.
  StorageAttachment* attachment() const { return attachment_.get(); }
  /// Replaces the attachment, which the storage owns; null removes it.
  void set_attachment(std::unique_ptr<StorageAttachment> attachment) { attachment_ = std::move(attachment); }

 private:
  Storage() = default;
  void* data_ = nullptr;
  Device device_;
  int64_t bytes_ = 0;
  int64_t capacity_ = 0;
  uint64_t version_ = 0;
  std::atomic<DeferredWork*> writer_ = nullptr, reader_ = nullptr;
  std::unique_ptr<StorageAttachment> attachment_;
  void* owner_ = nullptr;
  void (*release_)(void*) = nullptr;
};

}  // namespace tape
