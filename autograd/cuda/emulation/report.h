#pragma once

#include <functional>
#include <span>
#include <string>

#include "block.h"
#include "fault.h"

namespace tape::cuda_device::emulation {

/// Records the first fault of a launch: of this thread, at the call that returns to `caller`. `what` is called later,
/// on the stack of the launch, because that of the thread is abandoned: it must not hold objects.
void report(FaultKind kind, int thread, void* caller, std::function<std::string()> what);

/// Whether a fault was recorded since clear_report().
bool reported();
void clear_report();
/// The recorded fault, with its message. The block in which it happened must be the last one that ran.
Fault recorded_fault();

/// Reports that no thread can continue.
void report_deadlock(std::span<const Thread> threads);
/// Whether all waiting threads are at the same barrier of the source; reports it if they are not.
bool same_barrier(std::span<const Thread> threads);

/// "(5, 0, 0)".
std::string index_text(uint3 index);

}  // namespace tape::cuda_device::emulation
