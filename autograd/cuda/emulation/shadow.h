#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "../../../base/non_copyable.h"
#include "block.h"
#include "fault.h"

namespace tape::cuda_device::emulation {

/// How a kernel accesses memory.
enum class Access : uint8_t { read, write, atomic };

/// What is known of memory that kernels can access, per word of 4 bytes.
class Region : NonCopyable {
 public:
  static constexpr size_t kWord = 4;

  /// The last write and the last reads by two threads.
  struct Word {
    enum Slot { written, read, also_read, slots };
    std::array<uint32_t, slots> time{};    // of the access; 0: never
    std::array<uint32_t, slots> caller{};  // lower half of the address in the kernel
    std::array<uint16_t, slots> who{};     // thread, bytes of the word, atomic
    uint16_t updated_by = 0;               // an atomic last write: one thread, several of its warp, or several warps
  };

  Region(void* begin, size_t bytes, bool shared);
  ~Region();

  bool contains(const void* address) const { return offset(address) < bytes_; }
  size_t offset(const void* address) const { return static_cast<size_t>(static_cast<const char*>(address) - begin_); }
  Word& word(size_t index) { return words_[index]; }
  /// Bytes of a word that exist (lower four bits) and that were written (upper four bits).
  uint8_t& state(size_t index) { return states_[index]; }
  bool shared() const { return shared_; }
  void* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  /// Sets whether bytes exist or were written.
  void set_exists(const void* address, size_t bytes, bool exists);
  void set_written(const void* address, size_t bytes);
  void copy_written(const void* to, Region& source, const void* from, size_t bytes);
  /// Forgets all accesses, and returns their memory to the system.
  void forget_accesses();

 private:
  char* begin_;
  size_t bytes_;
  bool shared_;
  Word* words_;
  uint8_t* states_;
};

/// Checks each access of a kernel: whether the memory exists and was written, and whether something orders it with the
/// accesses of other threads.
class Shadow : NonCopyable {
 public:
  /// The device memory; null without a device.
  void set_device_memory(Region* region) { device_ = region; }
  void start_launch(const Launch& launch);
  void start_block();
  void end_block() { active_ = false; }
  /// Orders what threads did before and will do after a barrier of the block, of a warp, or a fence.
  void order_block() { block_time_ = ++time_; }
  void order_warp(unsigned warp) { warp_times_[warp] = ++time_; }
  void order_blocks() { launch_time_ = ++time_; }

  /// Reports a fault and ends the block if the access is one.
  void access(void* address, size_t bytes, Access access, void* caller) {
    // Many accesses are to variables of the kernel.
    if (active_ && !block_runner().on_stack(address)) check_access(address, bytes, access, caller);
  }
  void* dynamic_shared_memory();

 private:
  void check_access(void* address, size_t bytes, Access access, void* caller);
  Region* find_region(void* address);
  void access_word(Region& region, size_t word, unsigned bytes, Access access, void* address, void* caller);
  void check_slot(const Region& region, const Region::Word& word, int slot, unsigned bytes, Access access,
                  void* caller);
  void check_bounds(Region& region, Access access, void* address, void* caller);
  void fail_unwritten(const Region& region, Access access, void* address, void* caller);
  void fail_race(const Region& region, const Region::Word& word, int slot, Access access, void* caller);
  bool is_ordered(const Region::Word& word, int slot) const;
  void remember(Region::Word& word, unsigned bytes, Access access, void* caller);
  void remember_read(Region::Word& word, unsigned bytes, void* caller);
  bool find_shared_variable(Region& region, const void* address);
  std::string place_of(void* address, bool is_shared) const;
  void fail(FaultKind kind, void* caller, std::function<std::string()> what);

  bool active_ = false;  // while a block runs
  Region* device_ = nullptr;
  Region* module_ = nullptr;   // variables of the kernel's program or library, its shared memory
  Region* dynamic_ = nullptr;  // dynamic shared memory
  size_t dynamic_bytes_ = 0;
  uint32_t time_ = 1;         // advances with everything that orders accesses
  uint32_t launch_time_ = 1;  // since when the blocks of a launch are not ordered
  uint32_t start_time_ = 1;   // of the block
  uint32_t block_time_ = 1;   // of its last barrier
  std::array<uint32_t, kMostThreads / kWarp> warp_times_{};
};

/// The one that kernels report to. Kernels' programs call it before main(), too.
extern constinit Shadow access_checks;
inline Shadow& shadow() { return access_checks; }

}  // namespace tape::cuda_device::emulation
