#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "block.h"
#include "fault.h"

namespace tape::cuda_device::emulation {

/// Records the first fault of a launch: of this thread, at the call that returns to `caller`, with what happened.
void report_text(FaultKind kind, int thread, void* caller, const std::string& what);
template <class... A>
void report(FaultKind kind, int thread, void* caller, fmt::format_string<A...> text, A&&... arguments) {
  report_text(kind, thread, caller, fmt::format(text, std::forward<A>(arguments)...));
}

/// Whether a fault was recorded since clear_report().
bool reported();
const std::optional<Fault>& last_report();
void clear_report();

/// Reports that no thread can continue.
void report_deadlock(std::span<const Thread> threads);
/// Whether all waiting threads are at the same barrier of the source; reports it if they are not.
bool same_barrier(std::span<const Thread> threads);

/// "(5, 0, 0)".
std::string index_text(uint3 index);

}  // namespace tape::cuda_device::emulation
