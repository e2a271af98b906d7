#pragma once

#include <memory>

#include "communicator.h"

// Private to world.cpp: the one place that knows MPI is mpi.cpp, which is compiled where TAPEFORMER_MPI is on.

namespace tape::train::mpi {

/// Joins the other processes. Error (io) where MPI cannot start.
std::shared_ptr<Communicator> join();
/// How many of them may run on the very cores that this one may run on, itself included.
int ranks_on_these_cores();
/// Leaves, together with all others.
void leave() noexcept;
/// Ends all processes.
void abort(int code) noexcept;
/// Whether join() was called and leave() was not.
bool joined();
/// This process's number.
int rank() noexcept;

}  // namespace tape::train::mpi
