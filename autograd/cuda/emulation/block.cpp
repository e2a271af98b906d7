#include "autograd/cuda/emulation/block.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "autograd/cuda/emulation/report.h"
#include "autograd/cuda/emulation/shadow.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr size_t kStackBytes = 252 << 10;

unsigned lane_bit(int thread) { return 1U << (static_cast<unsigned>(thread) % kWarp); }
size_t warp_of(int thread) { return static_cast<size_t>(thread) / kWarp; }

}  // namespace

BlockRunner* running_blocks = nullptr;

BlockRunner::BlockRunner() : stacks_(kMostThreads, kStackBytes), threads_(kMostThreads), gathered_(kMostThreads) {
  // References to elements must stay valid while threads run.
  fibers_.reserve(kMostThreads);
  idle_.reserve(kMostThreads);
}

void BlockRunner::run(const Launch& launch, uint3 block, int schedule) {
  launch_ = &launch;
  block_ = block;
  schedule_ = schedule;
  const dim3 size = launch.block;
  count_ = alive_ = static_cast<int>(size.x * size.y * size.z);
  at_barrier_ = cursor_ = 0;
  ready_ = {};
  waiting_lanes_ = {};
  ready_warps_ = 0;
  uint3 index;
  for (int i = 0; i < count_; ++i) {
    threads_[static_cast<size_t>(i)].start(index);
    set_ready(i);
    if (++index.x < size.x) continue;
    index.x = 0;
    if (++index.y < size.y) continue;
    index.y = 0;
    ++index.z;
  }
  shadow().start_block();
  continue_thread(next_ready(), main_);
  shadow().end_block();
  if (alive_ == 0) return;
  // Fibers of threads that did not return are of no more use.
  fibers_.clear();
  idle_.clear();
}

/// Continues a thread where it waits, or starts it on a fiber without a thread.
void BlockRunner::continue_thread(int thread, FiberState& from) {
  Thread& next = threads_[static_cast<size_t>(thread)];
  set_current(thread);
  if (next.fiber < 0) {
    if (idle_.empty()) {
      prepare(static_cast<int>(fibers_.size()));
    }
    next.fiber = idle_.back();
    idle_.pop_back();
  }
  switch_fiber(from, fibers_[static_cast<size_t>(next.fiber)]);
}

void BlockRunner::prepare(int fiber) {
  fibers_.push_back(prepare_fiber(stacks_.stack(static_cast<size_t>(fiber)), stacks_.stack_bytes(), fiber_main));
  idle_.push_back(fiber);
}

/// Runs threads from their start to their end, for the life of the fiber.
void BlockRunner::fiber_main() {
  BlockRunner& runner = block_runner();
  for (;;) {
    runner.launch_->kernel->call(runner.launch_->arguments);
    const int fiber = runner.current().fiber;
    runner.current().waiting = Waiting::returned;
    runner.set_not_ready(runner.current_);
    --runner.alive_;
    runner.complete_warp_groups(runner.current_);
    const int next = runner.next_ready();
    if (next >= 0 && runner.threads_[static_cast<size_t>(next)].fiber < 0) {
      runner.set_current(next);
      runner.current().fiber = fiber;
      continue;
    }
    runner.idle_.push_back(fiber);
    FiberState& self = runner.fibers_[static_cast<size_t>(fiber)];
    if (next < 0) {
      switch_fiber(self, runner.main_);
    } else {
      runner.continue_thread(next, self);
    }
  }
}

void BlockRunner::set_current(int thread) {
  current_ = thread;
  current_thread_ = &threads_[static_cast<size_t>(thread)];
}

/// Lets other threads run until the current one is ready.
void BlockRunner::suspend() {
  const int self = current_;
  const int next = next_ready();
  if (next == self) return;
  // fibers_ may grow, so the state is stored where it does not move.
  FiberState& state = fibers_[static_cast<size_t>(threads_[static_cast<size_t>(self)].fiber)];
  if (next < 0) {
    switch_fiber(state, main_);
  } else {
    continue_thread(next, state);
  }
}

void BlockRunner::abandon() {
  FiberState lost = nullptr;
  switch_fiber(lost, main_);
}

void BlockRunner::wait_for_block(int value, void* caller) {
  Thread& thread = current();
  thread.waiting = Waiting::block_barrier;
  thread.value = value;
  thread.caller = caller;
  set_not_ready(current_);
  ++at_barrier_;
  suspend();
}

void BlockRunner::wait_for_warp(Waiting what, unsigned mask, void* caller) {
  Thread& thread = current();
  thread.waiting = what;
  thread.mask = mask;
  thread.caller = caller;
  set_not_ready(current_);
  ++waiting_lanes_[warp_of(current_)];
  if (!(mask & lane_bit(current_))) {
    report(FaultKind::divergent_barrier, current_, caller, [mask, lane = static_cast<unsigned>(current_) % kWarp] {
      return fmt::format("the mask {:#x} lacks the calling lane {}", mask, lane);
    });
    abandon();
  }
  if (!complete(current_)) suspend();
}

unsigned BlockRunner::active_lanes() const {
  const int first = current_ / static_cast<int>(kWarp) * static_cast<int>(kWarp);
  unsigned lanes = 0;
  for (int i = first; i < first + static_cast<int>(kWarp) && i < count_; ++i)
    if (threads_[static_cast<size_t>(i)].waiting != Waiting::returned) lanes |= lane_bit(i);
  return lanes;
}

void BlockRunner::set_ready(int thread) {
  ready_[warp_of(thread)] |= lane_bit(thread);
  ready_warps_ |= 1U << warp_of(thread);
}

void BlockRunner::set_not_ready(int thread) {
  if ((ready_[warp_of(thread)] &= ~lane_bit(thread)) == 0) ready_warps_ &= ~(1U << warp_of(thread));
}

/// The thread to run next, or -1 if all have returned or none can continue.
int BlockRunner::next_ready() {
  if (!ready_warps_) {
    if (alive_ == 0) return -1;
    if (at_barrier_ < alive_) {
      deadlock();
      return -1;
    }
    if (!same_barrier(threads())) return -1;
    release_block();
  }
  const int thread = pick(schedule_);
  cursor_ = thread + 1;
  return thread;
}

int BlockRunner::pick(int schedule) const {
  const auto lowest = [](uint32_t bits) { return std::countr_zero(bits); };
  const auto highest = [](uint32_t bits) { return 31 - std::countl_zero(bits); };
  const auto in_warp = [this](int warp) { return ready_[static_cast<size_t>(warp)]; };
  constexpr int kLanes = static_cast<int>(kWarp);
  if (schedule == 2) {
    const int warp = highest(ready_warps_);
    return warp * kLanes + highest(in_warp(warp));
  }
  if (schedule == 0 && cursor_ < count_) {
    const int warp = cursor_ / kLanes;
    if (const uint32_t rest = in_warp(warp) & (~0U << (cursor_ % kLanes))) return warp * kLanes + lowest(rest);
    if (const uint32_t later = warp == 31 ? 0 : ready_warps_ & (~0U << (warp + 1)))
      return lowest(later) * kLanes + lowest(in_warp(lowest(later)));
  }
  const int warp = lowest(ready_warps_);
  return warp * kLanes + lowest(in_warp(warp));
}

/// All threads that have not returned are at the barrier.
void BlockRunner::release_block() {
  unsigned votes = 0;
  for (const Thread& thread : threads())
    if (thread.waiting == Waiting::block_barrier) votes += thread.value != 0;
  for (int i = 0; i < count_; ++i) {
    Thread& thread = threads_[static_cast<size_t>(i)];
    if (thread.waiting != Waiting::block_barrier) continue;
    thread.waiting = Waiting::nothing;
    thread.votes = votes;
    set_ready(i);
  }
  at_barrier_ = 0;
  shadow().order_block();
}

/// Lanes of a returned thread's warp may have waited only for it.
void BlockRunner::complete_warp_groups(int thread) {
  if (waiting_lanes_[warp_of(thread)] == 0) return;
  const int first = thread / static_cast<int>(kWarp) * static_cast<int>(kWarp);
  for (int i = first; i < first + static_cast<int>(kWarp) && i < count_; ++i) complete(i);
}

/// Releases the lanes that a thread waits for in its warp, if all of them wait for each other.
bool BlockRunner::complete(int thread) {
  const Thread& self = threads_[static_cast<size_t>(thread)];
  const Waiting what = self.waiting;
  if (what == Waiting::nothing || what == Waiting::block_barrier || what == Waiting::returned) return false;
  const unsigned first = static_cast<unsigned>(thread) / kWarp * kWarp;
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < kWarp && first + lane < static_cast<unsigned>(count_); ++lane) {
    const Thread& other = threads_[first + lane];
    if (!(self.mask >> lane & 1) || other.waiting == Waiting::returned) continue;
    if (other.waiting != what || other.mask != self.mask) return false;
    lanes |= 1U << lane;
  }
  finish_group(first, lanes, what);
  return true;
}

void BlockRunner::gather(int thread, unsigned lanes) {
  const Thread& from = threads_[static_cast<size_t>(thread)];
  if (lanes != ~0U)
    report(FaultKind::inactive_lane, thread, from.caller,
           [] { return std::string("a matrix function needs all 32 lanes of a warp"); });
  std::memcpy(gathered_[static_cast<size_t>(thread)].bytes, from.given, from.bytes);
}

void BlockRunner::finish_group(unsigned first, unsigned lanes, Waiting what) {
  waiting_lanes_[first / kWarp] -= std::popcount(lanes);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane)
    if (lanes >> lane & 1) votes |= static_cast<unsigned>(threads_[first + lane].value != 0) << lane;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const int index = static_cast<int>(first + lane);
    Thread& thread = threads_[first + lane];
    thread.waiting = Waiting::nothing;
    thread.votes = votes;
    set_ready(index);
    if (what == Waiting::matrix) gather(index, lanes);
    if (what != Waiting::shuffle) continue;
    if (lanes >> thread.lane_from & 1) {
      std::memcpy(thread.result, threads_[first + static_cast<unsigned>(thread.lane_from)].given, thread.bytes);
    } else {
      report(FaultKind::inactive_lane, index, thread.caller, [from = thread.lane_from] {
        return fmt::format("a shuffle reads lane {}, which does not take part", from);
      });
    }
  }
  if (what == Waiting::warp_barrier) shadow().order_warp(first / kWarp);
  if (reported()) abandon();
}

void BlockRunner::deadlock() { report_deadlock(threads()); }

}  // namespace tape::cuda_device::emulation
