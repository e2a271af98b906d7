#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "ref.h"

namespace tape {

/// What the caching allocator holds, in bytes, and how often it was asked.
struct MemoryStats {
  int64_t live_bytes = 0;          ///< held by tensors now
  int64_t peak_bytes = 0;          ///< the most that live_bytes has been since reset_peak_memory()
  int64_t cached_bytes = 0;        ///< freed by tensors, kept for later requests
  int64_t requests = 0;            ///< storages handed out
  int64_t system_allocations = 0;  ///< of these, how many needed new memory from the system
};
MemoryStats memory_stats();
void reset_peak_memory();
/// Gives the cached bytes back to the system.
void empty_cache();
/// Refuses requests that would bring live_bytes over the limit; the physical memory unless set.
void set_memory_limit(int64_t bytes);

/// What an operation keeps beside the values of a storage for as long as that lives.
struct StorageAttachment : NonCopyable {
  virtual ~StorageAttachment() = default;
};

/// A block of 64-byte aligned memory that tensors share, with a counter of in-place writes.
class Storage : public RefCounted {
 public:
  /// Throws Error (out_of_memory) with the bytes asked where the limit or the system refuses.
  static Ref<Storage> allocate(int64_t bytes);
  /// Memory owned by somebody else, kept alive until release() is called by the destructor.
  static Ref<Storage> borrow(void* data, int64_t bytes, void* owner, void (*release)(void* owner));
  ~Storage();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }
  /// For values that stand in for those of another storage, and are not to look like a change of it.
  void set_version(uint64_t version) { version_ = version; }
  /// Null where there is none.
  StorageAttachment* attachment() const { return attachment_.get(); }
  void set_attachment(std::unique_ptr<StorageAttachment> attachment) { attachment_ = std::move(attachment); }

 private:
  Storage() = default;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t capacity_ = 0;
  uint64_t version_ = 0;
  std::unique_ptr<StorageAttachment> attachment_;
  void* owner_ = nullptr;
  void (*release_)(void*) = nullptr;
};

}  // namespace tape
