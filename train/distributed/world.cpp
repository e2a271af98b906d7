#include "train/distributed/world.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"

#ifdef TAPEFORMER_HAS_MPI
#include "train/distributed/mpi.h"
#endif

namespace tape::train {
namespace {

/// Number of processes started together, from the launcher's environment variables: Open MPI, MPICH and Intel MPI
/// (PMI), MVAPICH. 1 without any of them.
int processes_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE"})
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  // Slurm's srun also sets its variable for programs without MPI: it counts only with an MPI interface (PMIx, PMI-2).
  const char* const tasks = std::getenv("SLURM_NTASKS");
  const bool for_mpi = std::getenv("PMIX_RANK") || std::getenv("PMI_RANK");
  return tasks && for_mpi ? std::atoi(tasks) : 1;
}

#ifdef TAPEFORMER_HAS_MPI
bool world_was_made = false;
#endif

}  // namespace

#ifdef TAPEFORMER_HAS_MPI

bool has_mpi() { return true; }

World::World() : exceptions_(std::uncaught_exceptions()) {
  if (world_was_made) raise(ErrorKind::config, "World: a process can create only one World");
  if (processes_started() <= 1) return;
  world_was_made = true;
  ranks_ = mpi::join();
  const mpi::MachineRanks here = mpi::machine_ranks();
  rank_on_machine_ = here.rank;
  ranks_on_these_cores_ = here.sharing_cores;
}

World::~World() {
  if (!ranks_ || std::uncaught_exceptions() > exceptions_) return;
  ranks_.reset();
  mpi::leave();
}

void abort_all_ranks(int code, const std::function<void(const std::string& who)>& say) {
  if (!mpi::joined()) {
    say("");
    return;
  }
  const int rank = mpi::rank();
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  say(rank > 0 ? fmt::format("rank {}: ", rank) : "");
  mpi::abort(code);
}

#else

bool has_mpi() { return false; }

World::World() : exceptions_(0) {
  if (const int processes = processes_started(); processes > 1)
    raise(ErrorKind::config,
          "{} processes were started together, but this tapeformer was built without MPI: build it with "
          "-DTAPEFORMER_MPI=ON",
          processes);
}

World::~World() = default;

void abort_all_ranks(int, const std::function<void(const std::string& who)>& say) { say(""); }

#endif

}  // namespace tape::train
