#pragma once

#include <memory>

#include "communicator.h"

// Private to world.cpp. Only mpi.cpp uses MPI; it is compiled if TAPEFORMER_MPI is on.

namespace tape::train::mpi {

/// Joins the other processes (MPI_Init). Throws Error (io) if MPI cannot start.
std::shared_ptr<Communicator> join();
/// Number of ranks, including this one, that may run on the same cores as this one.
int ranks_sharing_cores();
/// Leaves together with all other ranks (MPI_Finalize).
void leave() noexcept;
/// Aborts all ranks.
void abort(int code) noexcept;
/// Whether join() was called and leave() was not.
bool joined();
/// This process's rank.
int rank() noexcept;

}  // namespace tape::train::mpi
