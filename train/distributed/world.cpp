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

/// The processes started together, and this one among them.
struct Launch {
  int processes = 1, rank = 0;
};

/// From the launcher's environment variables: Open MPI, MPICH and Intel MPI (PMI), MVAPICH.
Launch launch() {
  const auto number = [](const char* name, int otherwise) {
    const char* const text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
  };
  struct Names {
    const char *size, *rank;
  };
  for (const auto& [size, rank] :
       {Names{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, Names{"PMI_SIZE", "PMI_RANK"},
        Names{"MPI_LOCALNRANKS", "MPI_LOCALRANKID"}, Names{"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"}})
    if (std::getenv(size)) return {number(size, 1), number(rank, 0)};
  // Slurm's srun also sets its variable for programs without MPI: it counts only with an MPI interface (PMIx, PMI-2).
  const bool for_mpi = std::getenv("PMIX_RANK") || std::getenv("PMI_RANK");
  return for_mpi ? Launch{number("SLURM_NTASKS", 1), number("SLURM_PROCID", 0)} : Launch();
}

/// If all ranks failed alike, the others are aborted before they print.
void say_in_turn(int rank, const std::function<void(const std::string& who)>& say) {
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  say(rank > 0 ? fmt::format("rank {}: ", rank) : "");
}

#ifdef TAPEFORMER_HAS_MPI
bool world_was_made = false;
#endif

}  // namespace

#ifdef TAPEFORMER_HAS_MPI

bool has_mpi() { return true; }

World::World() : exceptions_(std::uncaught_exceptions()) {
  if (world_was_made) raise(ErrorKind::config, "World: a process can create only one World");
  if (launch().processes <= 1) return;
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
  const bool joined = mpi::joined();
  say_in_turn(joined ? mpi::rank() : launch().rank, say);
  if (joined) mpi::abort(code);
}

#else

bool has_mpi() { return false; }

World::World() : exceptions_(0) {
  if (const int processes = launch().processes; processes > 1)
    raise(ErrorKind::config,
          "{} processes were started together, but this tapeformer was built without MPI: build it with "
          "-DTAPEFORMER_MPI=ON",
          processes);
}

World::~World() = default;

void abort_all_ranks(int, const std::function<void(const std::string& who)>& say) { say_in_turn(launch().rank, say); }

#endif

}  // namespace tape::train
