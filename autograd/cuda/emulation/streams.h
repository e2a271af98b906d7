#pragma once

#include "../driver.h"
#include "graph_nodes.h"

// Streams of the emulated device. Their work runs in the order of the calls, whatever the stream, except that the work
// of a stream that is being captured becomes nodes of a graph, each after the one before.

namespace tape::cuda_device::emulation {

/// Adds cuStreamCreate and cuStream…Capture to a driver's table.
void add_stream_functions(Driver& driver);

/// Whether a stream is being captured.
bool is_capturing(void* stream);
/// Does work on a stream, or makes it a node. Fails where a real driver does: after something that a capture does not
/// permit, and for work of the legacy stream while a stream that waits for it is being captured.
Result submit_to(void* stream, NodeWork work);
/// The result of a call that waits for a stream or cannot be a node: an error, which also ends what was captured, if
/// the stream is being captured.
Result refuse_captured(void* stream);
/// The same for a call that is not about a stream, such as an allocation, if this thread captures.
Result refuse_while_capturing();

}  // namespace tape::cuda_device::emulation
