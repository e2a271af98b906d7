#pragma once

#include "../driver.h"

namespace tape::cuda_device::emulation {

/// Adds cuGraph… of the emulated device to a driver's table. A launch of a graph runs its nodes in an order that
/// respects their edges and otherwise changes from launch to launch, so that a missing edge is found.
///
/// An executable graph refuses what a real one may: other kernels, other sizes of fills and nodes of other graphs.
void add_graph_functions(Driver& driver);

}  // namespace tape::cuda_device::emulation
