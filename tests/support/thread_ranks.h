#pragma once

#include <functional>

#include "train/distributed/communicator.h"

namespace tape {

/// Runs the body on so many threads at once, each a rank of its own: what several processes do, within a test. Where
/// one of them throws, the others are woken with an exception, and the first to have thrown is thrown again.
void run_ranks(int count, const std::function<void(train::Communicator& ranks)>& body);

}  // namespace tape
