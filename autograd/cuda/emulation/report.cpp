#include "autograd/cuda/emulation/report.h"

#include "autograd/cuda/emulation/source_line.h"

namespace tape::cuda_device::emulation {
namespace {

std::optional<Fault>& recorded() {
  static auto* fault = new std::optional<Fault>;
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
    case FaultKind::stack_overflow:
      return "stack overflow";
  }
  return "?";
}

std::string index_text(uint3 index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }

void report_text(FaultKind kind, int thread, void* caller, const std::string& what) {
  if (recorded()) return;
  BlockRunner& runner = block_runner();
  const uint3 block = runner.block(), index = runner.threads()[static_cast<size_t>(thread)].index;
  const SourceLine place = source_line(caller);
  Fault fault;
  fault.kind = kind;
  fault.kernel = runner.launch().kernel->name;
  fault.file = place.file;
  fault.line = place.line;
  fault.block = {block.x, block.y, block.z};
  fault.thread = {index.x, index.y, index.z};
  fault.message = fmt::format("{}: {}: {} ({}, block {}, thread {})", fault.kernel, to_string(kind), what,
                              to_string(place), index_text(block), index_text(index));
  recorded() = std::move(fault);
}

bool reported() { return recorded().has_value(); }
const std::optional<Fault>& last_report() { return recorded(); }
void clear_report() { recorded().reset(); }

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
      report(FaultKind::divergent_barrier, static_cast<int>(i), self.caller, "{} waits for {}", place_text(self),
             other.waiting == self.waiting
                 ? fmt::format("{} with the mask {:#x} and not {:#x}", place_text(other), other.mask, self.mask)
                 : place_text(other));
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
    report(FaultKind::divergent_barrier, static_cast<int>(i), thread.caller, "{} and {} wait at different barriers",
           place_text(*first), place_text(thread));
    return false;
  }
  return true;
}

}  // namespace tape::cuda_device::emulation
