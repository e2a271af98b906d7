#pragma once

#include <functional>

#include "train/distributed/communicator.h"

namespace tape {

/// Runs the body on several threads at once, each as a rank, to test multi-process code in one process. If one of them
/// throws, the others are woken with an exception, and the first exception is rethrown.
void run_ranks(int count, const std::function<void(train::Communicator& ranks)>& body);

}  // namespace tape
