#include "autograd/cuda/emulation/report.h"

#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/emulation/source_line.h"

namespace tape::cuda_device::emulation {
namespace {

/// A fault before its message is made.
struct Recorded {
  bool any = false;
  FaultKind kind = FaultKind::race;
  int thread = 0;
  void* caller = nullptr;
  std::function<std::string()> what;
};
Recorded& recorded() {
  static auto* fault = new Recorded;
  return *fault;
}

const char* text_of(Waiting waiting) {
  switch (waiting) {
    case Waiting::block_barrier:
      return "__syncthreads()";
    case Waiting::warp_barrier:
      return "__syncwarp()";
    case Waiting::shuffle:
      return "a shuffle";
    case Waiting::vote:
      return "a vote";
    case Waiting::matrix:
      return "a matrix function";
    default:
      return "nothing";
  }
}

std::string place_text(const Thread& thread) {
  return fmt::format("thread {} at {} ({})", index_text(thread.index), text_of(thread.waiting),
                     to_string(source_line(thread.caller)));
}

bool is_waiting(const Thread& thread) {
  return thread.waiting != Waiting::nothing && thread.waiting != Waiting::returned;
}

}  // namespace

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::race:
      return "race";
    case FaultKind::divergent_barrier:
      return "divergent barrier";
    case FaultKind::out_of_bounds:
      return "out of bounds";
    case FaultKind::uninitialized_read:
      return "uninitialized read";
    case FaultKind::host_pointer:
      return "host pointer";
    case FaultKind::misaligned:
      return "misaligned address";
    case FaultKind::division_by_zero:
      return "division by zero";
    case FaultKind::inactive_lane:
      return "inactive lane";
  }
  return "?";
}

std::string index_text(uint3 index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }

void report(FaultKind kind, int thread, void* caller, std::function<std::string()> what) {
  if (!reported()) recorded() = {true, kind, thread, caller, std::move(what)};
}

bool reported() { return recorded().any; }
void clear_report() { recorded() = {}; }

Fault recorded_fault() {
  const Recorded& from = recorded();
  const BlockRunner& runner = block_runner();
  const uint3 block = runner.block(), index = runner.threads()[static_cast<size_t>(from.thread)].index;
  const SourceLine place = source_line(from.caller);
  Fault fault;
  fault.kind = from.kind;
  fault.kernel = runner.launch().kernel->name;
  fault.file = place.file;
  fault.line = place.line;
  fault.block = {block.x, block.y, block.z};
  fault.thread = {index.x, index.y, index.z};
  fault.operation = runner.launch().operation;
  fault.message = fmt::format("{}: {}: {} ({}, block {}, thread {}{}{})", fault.kernel, to_string(fault.kind),
                              from.what(), to_string(place), index_text(block), index_text(index),
                              fault.operation.empty() ? "" : ", operation ", fault.operation);
  return fault;
}

void report_deadlock(std::span<const Thread> threads) {
  // A thread that waits within its warp, which is where a deadlock is, and one of its warp that it waits for.
  for (size_t i = 0; i < threads.size(); ++i) {
    const Thread& self = threads[i];
    if (!is_waiting(self) || self.waiting == Waiting::block_barrier) continue;
    const size_t first = i / kWarp * kWarp;
    for (size_t j = first; j < first + kWarp && j < threads.size(); ++j) {
      const Thread& other = threads[j];
      if (!(self.mask >> (j - first) & 1) || !is_waiting(other)) continue;
      if (other.waiting == self.waiting && other.mask == self.mask) continue;
      report(FaultKind::divergent_barrier, static_cast<int>(i), self.caller, [self, other] {
        const std::string text = fmt::format("{} waits for {}", place_text(self), place_text(other));
        if (other.waiting != self.waiting) return text;
        return text + fmt::format(" with the mask {:#x} and not {:#x}", other.mask, self.mask);
      });
      return;
    }
  }
}

bool same_barrier(std::span<const Thread> threads) {
  const Thread* first = nullptr;
  for (size_t i = 0; i < threads.size(); ++i) {
    const Thread& thread = threads[i];
    if (thread.waiting != Waiting::block_barrier) continue;
    if (!first) first = &thread;
    // A compiler may copy a call, so that one barrier of the source has several addresses.
    if (thread.caller == first->caller || source_line(thread.caller) == source_line(first->caller)) continue;
    report(FaultKind::divergent_barrier, static_cast<int>(i), thread.caller, [first = *first, thread] {
      return fmt::format("{} and {} wait at different barriers", place_text(first), place_text(thread));
    });
    return false;
  }
  return true;
}

}  // namespace tape::cuda_device::emulation
