// The functions that kernels call on the emulated device.
#include <cstring>

#include <fmt/format.h>

#include "autograd/cuda/emulation/block.h"
#include "autograd/cuda/emulation/report.h"
#include "autograd/cuda/emulation/shadow.h"

namespace tape::cuda_device::emulation {

uint3 thread_index() { return block_runner().current().index; }
uint3 block_index() { return block_runner().block(); }
dim3 block_size() { return block_runner().launch().block; }
dim3 grid_size() { return block_runner().launch().grid; }
int lane() { return block_runner().current_index() % static_cast<int>(kWarp); }
void* dynamic_shared_memory() { return shadow().dynamic_shared_memory(); }

void block_barrier() { block_runner().wait_for_block(0, __builtin_return_address(0)); }

int block_count(int value) {
  block_runner().wait_for_block(value, __builtin_return_address(0));
  return static_cast<int>(block_runner().current().votes);
}

void warp_barrier(unsigned mask) {
  block_runner().wait_for_warp(Waiting::warp_barrier, mask, __builtin_return_address(0));
}

void fence() { shadow().order_blocks(); }

void warp_shuffle(unsigned mask, int from, const void* value, void* result, size_t bytes) {
  Thread& thread = block_runner().current();
  thread.lane_from = from;
  thread.given = value;
  thread.result = result;
  thread.bytes = bytes;
  block_runner().wait_for_warp(Waiting::shuffle, mask, __builtin_return_address(0));
}

unsigned warp_vote(unsigned mask, int value) {
  block_runner().current().value = value;
  block_runner().wait_for_warp(Waiting::vote, mask, __builtin_return_address(0));
  return block_runner().current().votes;
}

unsigned active_lanes() { return block_runner().active_lanes(); }

void copy_async(void* to, const void* from, size_t bytes, size_t valid) {
  Thread& thread = block_runner().current();
  void* const caller = __builtin_return_address(0);
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes != 0) {
    report(FaultKind::misaligned, block_runner().current_index(), caller,
           [=] { return fmt::format("a copy of {} bytes from {} to {}", bytes, from, to); });
    block_runner().abandon();
  }
  thread.copies.push_back({to, from, bytes, valid, thread.copy_groups, caller});
}

void commit_copies() { ++block_runner().current().copy_groups; }

void wait_for_copies(unsigned pending_groups) {
  Thread& thread = block_runner().current();
  size_t left = 0;
  for (const AsyncCopy& copy : thread.copies) {
    if (copy.group + pending_groups >= thread.copy_groups) {
      thread.copies[left++] = copy;
      continue;
    }
    if (copy.valid) shadow().access(const_cast<void*>(copy.from), copy.valid, Access::read, copy.caller);
    shadow().access(copy.to, copy.bytes, Access::write, copy.caller);
    std::memcpy(copy.to, copy.from, copy.valid);
    std::memset(static_cast<char*>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
  }
  thread.copies.erase(thread.copies.begin() + static_cast<std::ptrdiff_t>(left), thread.copies.end());
}

void atomic_access(void* address, size_t bytes, void* caller) {
  shadow().access(address, bytes, Access::atomic, caller);
}

}  // namespace tape::cuda_device::emulation
