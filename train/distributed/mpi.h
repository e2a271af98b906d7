#pragma once

#include <memory>

#include "communicator.h"

// Private to world.cpp. Only mpi.cpp uses MPI; it is compiled if TAPEFORMER_MPI is on.

namespace tape::train::mpi {

/// Joins the other processes (MPI_Init, unless the program has called it). Throws Error (io) if MPI cannot start, Error
/// (config) if the program has started it without support for threads.
std::shared_ptr<Communicator> join();
/// This process among those of its machine.
struct MachineRanks {
  int rank = 0;           ///< among them, from 0
  int sharing_cores = 1;  ///< number that may run on the same cores, including this one
};
MachineRanks machine_ranks();
/// Leaves together with all other ranks (MPI_Finalize, if join() initialized MPI).
void leave() noexcept;
/// Aborts all ranks.
void abort(int code) noexcept;
/// Whether join() was called and leave() was not.
bool joined();
/// This process's rank.
int rank() noexcept;

}  // namespace tape::train::mpi
