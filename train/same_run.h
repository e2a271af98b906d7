#pragma once

#include "distributed/communicator.h"
#include "trainer.h"

namespace tape::train {

/// Error (config) on every rank, naming one and what it has, unless all run the same version with the same kernels and
/// have the same settings, files of data included: they would compute other bits, or learn from other data.
void check_same_run(Communicator& ranks, const TrainerOptions& options);

}  // namespace tape::train
