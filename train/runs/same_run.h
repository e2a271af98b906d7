#pragma once

#include "../distributed/communicator.h"
#include "../trainer/trainer.h"

namespace tape::train {

/// Error (config) on every rank, naming one and what it has, unless all run the same version with the same kernels and
/// have the same settings, files of data included, and step, evaluate and save at the same times: they would compute
/// other bits, learn from other data, or wait for each other for ever.
void check_same_run(Communicator& ranks, const TrainerOptions& options);

}  // namespace tape::train
