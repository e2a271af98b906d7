#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fiber.h"
#include "runtime.h"

namespace tape::cuda_device::emulation {

constexpr unsigned kMostThreads = 1024;
constexpr unsigned kWarp = 32;

/// Why a thread does not run.
enum class Waiting : uint8_t { nothing, block_barrier, warp_barrier, shuffle, vote, matrix, returned };

/// A kernel with its arguments and sizes.
struct Launch {
  const RegisteredKernel* kernel;
  void** arguments;
  dim3 grid, block;
  size_t shared_bytes;
  const char* operation;  // that launched it, or ""
};

/// What a lane gave to a matrix function of its warp.
struct alignas(16) GatheredValue {
  unsigned char bytes[32];
};

/// A copy to shared memory that has not been waited for.
struct AsyncCopy {
  void* to;
  const void* from;
  size_t bytes, valid;
  unsigned group;
  void* caller;
};

/// The state of a thread of the block that runs.
struct Thread {
  uint3 index;
  Waiting waiting = Waiting::nothing;
  int fiber = -1;               // that it runs on; -1 before it starts
  int lane_from = 0;            // of a shuffle
  int value = 0;                // of a vote
  unsigned mask = 0;            // of a warp's barrier, shuffle or vote
  void* caller = nullptr;       // return address into the kernel of the call that waits
  const void* given = nullptr;  // by a shuffle
  void* result = nullptr;       // of a shuffle
  size_t bytes = 0;             // of a shuffle
  unsigned votes = 0;           // result of a vote, or of block_count()

  std::vector<AsyncCopy> copies;
  unsigned copy_groups = 0;  // that have ended

  void start(uint3 of) {
    index = of;
    waiting = Waiting::nothing;
    fiber = -1;
    value = 0;
    copies.clear();
    copy_groups = 0;
  }
};

/// Runs the threads of one block after the other on fibers, one thread at a time.
///
/// A thread starts on the fiber of the one that returned before it, so that threads without barriers need no switches.
class BlockRunner : NonCopyable {
 public:
  BlockRunner();

  void run(const Launch& launch, uint3 block, int schedule);

  // Called on fibers by the running thread, with the return address into the kernel.
  void wait_for_block(int value, void* caller);
  void wait_for_warp(Waiting what, unsigned mask, void* caller);
  /// Ends the block: run() returns, and this call does not. For faults.
  void abandon();

  Thread& current() { return *current_thread_; }
  int current_index() const { return current_; }
  std::span<const Thread> threads() const { return {threads_.data(), static_cast<size_t>(count_)}; }
  const Launch& launch() const { return *launch_; }
  uint3 block() const { return block_; }
  unsigned active_lanes() const;
  /// What the 32 lanes of the current thread's warp gave to a matrix function.
  const GatheredValue* gathered() const { return &gathered_[static_cast<size_t>(current_) / kWarp * kWarp]; }
  bool on_stack(const void* address) const {
    return static_cast<size_t>(static_cast<const char*>(address) - stacks_.begin()) < stacks_.bytes();
  }
  const FiberStacks& stacks() const { return stacks_; }

 private:
  static void fiber_main();
  void suspend();
  void continue_thread(int thread, FiberState& from);
  void prepare(int fiber);
  int next_ready();
  int pick(int schedule) const;
  void set_ready(int thread);
  void set_not_ready(int thread);
  void release_block();
  void complete_warp_groups(int thread);
  bool complete(int thread);
  void finish_group(unsigned first, unsigned lanes, Waiting what);
  void gather(int thread, unsigned lanes);
  void deadlock();
  void set_current(int thread);

  FiberStacks stacks_;
  std::vector<FiberState> fibers_;
  std::vector<int> idle_;  // fibers that can start a thread
  std::vector<Thread> threads_;
  std::array<uint32_t, kMostThreads / kWarp> ready_{};  // lanes of each warp
  uint32_t ready_warps_ = 0;
  std::vector<GatheredValue> gathered_;
  std::array<int, kMostThreads / kWarp> waiting_lanes_{};  // at a barrier, shuffle or vote of each warp
  int cursor_ = 0;                                         // next thread of schedule 0
  int alive_ = 0, at_barrier_ = 0, count_ = 0;
  int current_ = -1;
  Thread* current_thread_ = nullptr;
  int schedule_ = 0;
  FiberState main_ = nullptr;
  const Launch* launch_ = nullptr;
  uint3 block_{};
};

/// The one that kernels run on, or null before the first device exists.
extern BlockRunner* running_blocks;
inline BlockRunner& block_runner() { return *running_blocks; }

}  // namespace tape::cuda_device::emulation
